import { availableParallelism, loadavg } from 'node:os';

/** The load average of the last minute. */
export const load = () => loadavg()[0];

/** A limit in milliseconds that grows with what else the machine does: it holds as it is while there is a core for each task. */
export const within = (ms) => ms * Math.max(1, load() / availableParallelism());

/** The lines of one scenario: each says what was counted, and whether that holds. */
export class Checks {
  failed = 0;

  constructor(scenario) {
    this.scenario = scenario;
  }

  check(holds, line) {
    if (!holds) this.failed += 1;
    process.stdout.write(`${holds ? 'ok  ' : 'FAIL'}  ${this.scenario}: ${line}\n`);
  }

  note(line) {
    process.stdout.write(`      ${this.scenario}: ${line}\n`);
  }
}

/** @returns how often each value occurs, as `a × 3, b × 1` */
export function counted(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].map(([value, count]) => `${value} × ${count}`).join(', ') || 'none';
}

export const times = (count) => Array.from({ length: count }, (_none, n) => n);

/** Calls one after the other. @returns the answers */
export async function inTurn(count, call) {
  const answers = [];
  for (const n of times(count)) answers.push(await call(n));
  return answers;
}
