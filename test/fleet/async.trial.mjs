import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../support/wait.ts';
import { counted, times } from './check.mjs';

const count = 500;
/** How an execution ended; undefined while it waits or runs. */
const outcomeOf = ({ status, endedAt, outcome, problem }) =>
  endedAt ? (outcome?.error?.type ?? outcome?.status ?? problem?.code ?? status) : undefined;

/** Asynchronous executions, while two of three replicas are killed. Every second one may be repeated. */
export async function asynchronous({ fleet, checks }) {
  const script = fleet.copyTool('ending-tool.mjs', './ending-tool.mjs');
  const ends = join(fleet.folder, 'shared', 'ends');
  writeFileSync(ends, '', { mode: 0o666 });
  const common = { args: [script, `--ends=${ends}`], poolSize: 4 };
  await fleet.register('ends_once', common);
  await fleet.register('ends_again', { ...common, annotations: { idempotent: true } });
  const submit = async (n) => {
    const tool = n % 2 === 0 ? 'ends_once' : 'ends_again';
    const key = `${tool}-${n}`;
    const answer = await fleet.call(tool, { key }, { headers: { prefer: 'respond-async' } });
    const said = answer.status === 202 ? '202' : `${answer.status} ${answer.body.code}`;
    return { key, tool, status: answer.status, location: answer.headers.get('location'), said };
  };
  const jobs = [];
  for (const n of times(count / 20))
    jobs.push(...(await Promise.all(times(20).map((m) => submit(n * 20 + m)))));
  const accepted = jobs.filter(({ status, location }) => status === 202 && location);
  checks.check(
    accepted.length === count,
    `${accepted.length} of ${count} answered 202 with a location: ${counted(jobs.map(({ said }) => said))}`,
  );
  if (accepted.length === 0) return;
  const ended = () => (existsSync(ends) ? readFileSync(ends, 'utf8').split('\n').filter(Boolean) : []);
  await until(() => ended().length >= 50, { what: 'the first executions to end' });
  const [, second, third] = fleet.replicas;
  await Promise.all([second.end('SIGKILL'), third.end('SIGKILL')]);
  const before = ended().length;
  checks.check(
    before < count - 100,
    `replicas 2 and 3 killed after ${before} of ${count} had ended (more than 100 are left)`,
  );
  await delay(2_000);
  for (const replica of [second, third]) replica.start();
  await Promise.all([second.ready(), third.ready()]);
  await outcomes({ fleet, checks, jobs: accepted, ended });
  await fleet.allUp();
}

async function outcomes({ fleet, checks, jobs, ended }) {
  const since = performance.now();
  const open = new Set(jobs);
  while (open.size > 0 && performance.now() - since < 90_000) {
    await Promise.all(
      [...open].slice(0, 8).map(async (job) => {
        const { body } = await fleet.ask('GET', `${job.location}?waitMs=2000`);
        job.outcome = outcomeOf(body);
        if (job.outcome !== undefined) open.delete(job);
      }),
    );
  }
  const seconds = (performance.now() - since) / 1_000;
  checks.check(
    open.size === 0 && seconds <= 60,
    `${jobs.length - open.size} of ${jobs.length} over ${seconds.toFixed(1)} s after the restart (at most 60)`,
  );
  const of = (tool) => jobs.filter((job) => job.tool === tool).map(({ outcome }) => outcome ?? 'none');
  const [once, again] = [of('ends_once'), of('ends_again')];
  checks.check(
    again.every((outcome) => outcome === 'success'),
    `idempotent: ${counted(again)} (all success)`,
  );
  checks.check(
    once.every((outcome) => ['success', 'interrupted'].includes(outcome)),
    `others: ${counted(once)} (success or interrupted)`,
  );
  const writes = new Map();
  for (const key of ended()) writes.set(key, (writes.get(key) ?? 0) + 1);
  const twice = [...writes].filter(([key, written]) => key.startsWith('ends_once') && written > 1);
  checks.check(twice.length === 0, `${twice.length} that may not be repeated ended twice (0)`);
  const successes = jobs.filter(({ outcome, key }) => outcome === 'success' && !writes.has(key));
  checks.check(successes.length === 0, `${successes.length} successes that the tool knows nothing of (0)`);
  const again2 = await Promise.all(
    jobs.slice(0, 20).map(async (job) => {
      const said = [];
      for (const { url } of fleet.replicas) {
        const { body } = await fleet.ask('GET', job.location, undefined, { url });
        said.push(outcomeOf(body));
      }
      return said.every((each) => each === job.outcome);
    }),
  );
  checks.check(
    again2.every(Boolean),
    `${again2.filter(Boolean).length} of 20 have the same outcome at each replica`,
  );
}
