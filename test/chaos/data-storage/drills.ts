import type { CircuitSettings } from '../../../src/base/outbound/breaker/circuit-state.js';
import { Random } from '../random.js';
import { CircuitModel } from './circuit-model.js';
import { type Fault, faults } from './faults.js';
import { type Ending, quickTimes, type Rig, scaledTimes } from './rig.js';

export interface Finding {
  readonly drill: string;
  readonly questions: number;
  readonly tries: number;
  readonly slowestMs: number;
  readonly problems: readonly string[];
}

const lanes = 16;
const circuit: CircuitSettings = {
  failures: 1,
  minCalls: 5,
  minFailureRate: 0.5,
  windowMs: 300_000,
  openMs: 30_000,
  maxOpenMs: 30_000,
  probes: 1,
};
/** So that every question reaches the fault. */
const neverOpens: CircuitSettings = { ...circuit, minCalls: 1e9 };

/** Every question meets the fault: it ends in time, as it must, and is not asked more often than it may. */
export async function meetFault(
  rig: Rig,
  fault: Fault,
  count: number,
  times = fault.kind === 'timeout' ? scaledTimes : quickTimes,
): Promise<Finding> {
  await rig.service.behave('ok', { retryAfter: fault.retryAfter, delayMs: times.timeoutMs * 300 });
  await rig.service.forget();
  const client = rig.client(fault.place, { ...times, circuit: neverOpens });
  const endings: (Ending & { query: string })[] = [];
  let begun = 0;
  const lane = async (): Promise<void> => {
    while (begun++ < count) {
      const query = rig.questionOf(fault);
      endings.push({ query, ...(await rig.ask(client, query)) });
    }
  };
  await Promise.all(Array.from({ length: Math.min(lanes, count) }, lane));
  const arrivals = await rig.arrivals();
  const maxMs = times.deadlineMs + rig.graceMs();
  const problems = endings.flatMap(({ query, kind, tries, tookMs }) => {
    const arrived = arrivals.get(query) ?? 0;
    const wrong = [
      kind !== fault.kind && kind !== fault.orKind && `ended as ${kind}`,
      tries > fault.tries && `${tries} tries`,
      arrived > fault.tries && `${arrived} requests arrived`,
      tookMs > maxMs && `took ${tookMs.toFixed(0)} ms of ${maxMs.toFixed(0)}`,
    ];
    return wrong.filter((each) => each !== false).map((each) => `${query}: ${each}`);
  });
  // What was left of the fault must not meet who comes next.
  const after = await rig.ask(rig.client('service', quickTimes), rig.questionOf({}));
  if (after.kind !== 'ok') problems.push(`afterwards an honest question ends as ${after.kind}`);
  return summary(fault.name, endings, problems);
}

/** A story of faults, honest answers and pauses: tries and circuit are those of the naive model after every step. */
export async function followModel(rig: Rig, seed: number, steps: number): Promise<Finding> {
  await rig.service.behave('ok');
  await rig.service.forget();
  const random = new Random(seed);
  const clock = { time: 1_000_000, now: () => clock.time };
  // A time-out would add to every story what a busy machine does with it.
  const quick = faults.filter(
    ({ place, kind, retryAfter }) => place === 'service' && kind !== 'timeout' && !retryAfter,
  );
  const client = rig.client('service', { ...quickTimes, circuit }, clock);
  const model = new CircuitModel(circuit);
  const endings: Ending[] = [];
  const problems: string[] = [];
  for (let step = 0; step < steps; step++) {
    if (random.chance(1 / 3)) {
      clock.time += random.of([30_000, 60_000, 300_000]);
      model.passTo(clock.time);
    } else {
      const fault = random.chance(1 / 3) ? undefined : random.of(quick);
      const before = model.tries;
      const expected = model.ask(fault, clock.time);
      const ending = await rig.ask(client, rig.questionOf(fault ?? {}));
      endings.push({ ...ending, tries: model.tries - before });
      if (ending.kind !== expected) problems.push(`step ${step}: ${ending.kind} instead of ${expected}`);
    }
    const state = client.circuitState;
    if (state !== model.state) problems.push(`step ${step}: circuit ${state} instead of ${model.state}`);
    if (problems.length > 10) break;
  }
  const arrived = [...(await rig.arrivals()).values()].reduce((sum, count) => sum + count, 0);
  if (arrived !== model.tries) problems.push(`${arrived} requests arrived instead of ${model.tries}`);
  return summary(`circuit_model_${seed}`, endings, problems);
}

function summary(drill: string, endings: readonly Ending[], problems: readonly string[]): Finding {
  return {
    drill,
    questions: endings.length,
    tries: endings.reduce((sum, { tries }) => sum + tries, 0),
    slowestMs: Math.max(0, ...endings.map(({ tookMs }) => tookMs)),
    problems,
  };
}

export const lineOf = ({ drill, questions, tries, slowestMs, problems }: Finding): string =>
  [
    `${drill.padEnd(24)} ${String(questions).padStart(5)} questions ${String(tries).padStart(5)} tries, slowest ${slowestMs.toFixed(0)} ms${problems.length > 0 ? ', PROBLEMS' : ''}`,
    ...problems.slice(0, 10).map((problem) => `  ${problem}`),
  ].join('\n');
