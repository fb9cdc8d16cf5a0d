import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../support/wait.ts';
import { counted, times, within } from './check.mjs';

const rounds = Number(process.env.FLEET_KILLS ?? 10);
/** Jobs of each of two callers in each round. */
const count = 100;
const poolSize = 4;
const isAccepted = ({ status, location }) => status === 202 && location;
/** How an execution ended; undefined while it waits or runs. */
const outcomeOf = ({ status, endedAt, outcome, problem }) =>
  endedAt ? (outcome?.error?.type ?? outcome?.status ?? problem?.code ?? status) : undefined;

/**
 * Asynchronous executions of two callers, while one replica after the other is killed: what no process of the tool had
 * runs elsewhere, and nothing that may not be repeated runs twice. Every fourth call may be repeated.
 */
export async function asynchronous({ fleet, checks }) {
  const script = fleet.copyTool('ending-tool.mjs', './ending-tool.mjs');
  const [began, ends] = ['began', 'ends'].map((name) => join(fleet.folder, 'shared', name));
  for (const file of [began, ends]) writeFileSync(file, '', { mode: 0o666 });
  const linesOf = (file) => readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const common = { args: [script, `--began=${began}`, `--ends=${ends}`], poolSize, timeoutMs: 600_000 };
  await fleet.register('ends_once', common);
  await fleet.register('ends_again', { ...common, annotations: { idempotent: true } });
  const callers = await Promise.all(times(2).map((n) => callerOf(fleet, n)));
  const jobs = [];
  for (const round of times(rounds)) {
    const own = await submitted(fleet, callers, round);
    jobs.push(...own);
    const before = linesOf(ends).length;
    await until(() => linesOf(ends).length >= before + 20, {
      timeoutMs: within(60_000),
      what: 'executions to end',
    });
    const victim = fleet.replicas[round % 3];
    await victim.end('SIGKILL');
    victim.start();
    await fleet.allUp();
    // A caller may have a hundred waiting.
    await ended(fleet, own.filter(isAccepted), () => linesOf(ends).length);
  }
  const wanted = rounds * count * 2;
  const accepted = jobs.filter(isAccepted);
  const said = counted(jobs.map((job) => job.said));
  checks.check(
    accepted.length === wanted,
    `${accepted.length} of ${wanted} answered 202 with a location: ${said}`,
  );
  verdict({ checks, jobs: accepted, began: linesOf(began), ends: linesOf(ends) });
  await sameEverywhere({ fleet, checks, jobs: accepted.slice(-20) });
}

async function callerOf(fleet, n) {
  const body = { name: `jobs ${n}`, owner: `caller ${n}`, scopes: ['tools:call'] };
  const { body: made } = await fleet.ask('POST', '/api/v1/keys', body);
  return { authorization: `Bearer ${made.key}` };
}

/** @returns the jobs of one round, by both callers in turn */
async function submitted(fleet, callers, round) {
  const submit = async (n) => {
    const tool = n % 4 === 3 ? 'ends_again' : 'ends_once';
    const key = `${tool}-${round}-${n}`;
    const caller = callers[Math.floor(n / 2) % 2];
    const headers = { ...caller, prefer: 'respond-async' };
    const answer = await fleet.call(tool, { key }, { headers });
    const said = answer.status === 202 ? '202' : `${answer.status} ${answer.body.code}`;
    return { key, tool, caller, status: answer.status, location: answer.headers.get('location'), said };
  };
  const jobs = [];
  for (let n = 0; n < count * 2; n += 20)
    jobs.push(...(await Promise.all(times(20).map((m) => submit(n + m)))));
  return jobs;
}

/** Waits for all outcomes, for as long as executions go on ending. */
async function ended(fleet, jobs, progress) {
  const open = new Set(jobs);
  let [last, since] = [progress(), performance.now()];
  while (open.size > 0 && performance.now() - since < within(60_000)) {
    const before = open.size;
    await Promise.all(
      [...open].slice(0, 12).map(async (job) => {
        const { body } = await fleet.ask('GET', `${job.location}?waitMs=2000`, undefined, {
          headers: job.caller,
        });
        job.outcome = outcomeOf(body);
        if (job.outcome !== undefined) open.delete(job);
      }),
    );
    if (open.size < before || progress() > last) [last, since] = [progress(), performance.now()];
  }
}

function verdict({ checks, jobs, began, ends }) {
  const of = (tool) => jobs.filter((job) => job.tool === tool);
  const outcomes = (tool) => of(tool).map(({ outcome }) => outcome ?? 'none');
  const [once, again] = [outcomes('ends_once'), outcomes('ends_again')];
  checks.check(
    again.every((outcome) => outcome === 'success'),
    `idempotent: ${counted(again)} (all success)`,
  );
  const interrupted = of('ends_once').filter(({ outcome }) => outcome === 'interrupted');
  checks.check(
    interrupted.length <= rounds * poolSize &&
      once.every((outcome) => ['success', 'interrupted'].includes(outcome)),
    `others: ${counted(once)} (success; interrupted at most ${rounds * poolSize}: ${rounds} kills, ${poolSize} processes)`,
  );
  const had = new Set(began);
  const waited = interrupted.filter(({ key }) => !had.has(key)).length;
  checks.note(
    `${waited} of ${interrupted.length} interrupted: killed between the mark and the tool's first line`,
  );
  const twice = (lines) => {
    const counts = new Map();
    for (const key of lines) counts.set(key, (counts.get(key) ?? 0) + 1);
    return [...counts].filter(([key, n]) => key.startsWith('ends_once') && n > 1).length;
  };
  checks.check(
    twice(began) + twice(ends) === 0,
    `${twice(began)} that may not be repeated began twice, ${twice(ends)} ended twice (0, 0)`,
  );
  const done = new Set(ends);
  const unknown = jobs.filter(({ outcome, key }) => outcome === 'success' && !done.has(key)).length;
  checks.check(unknown === 0, `${unknown} successes that the tool knows nothing of (0)`);
}

/** @param jobs of the last round, which ended after the last kill */
async function sameEverywhere({ fleet, checks, jobs }) {
  const same = await Promise.all(
    jobs.map(async (job) => {
      const views = await Promise.all(
        fleet.replicas.map(({ url }) =>
          fleet.ask('GET', job.location, undefined, { url, headers: job.caller }),
        ),
      );
      return views.every(({ body }) => outcomeOf(body) === job.outcome);
    }),
  );
  const count = same.filter(Boolean).length;
  checks.check(
    count === jobs.length,
    `${count} of the last ${jobs.length} have the same outcome at each replica`,
  );
}
