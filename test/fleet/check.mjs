import { readdirSync, readFileSync } from 'node:fs';
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

/** CPU time of a process and its children, also of those that have ended. */
export function cpuMsOf(pid) {
  const ticks = (id, fields) => {
    try {
      const stat = readFileSync(`/proc/${id}/stat`, 'utf8');
      const values = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return { parent: Number(values[1]), sum: fields.reduce((sum, at) => sum + Number(values[at]), 0) };
    } catch {
      return { parent: 0, sum: 0 };
    }
  };
  // utime and stime; cutime and cstime of children that were waited for.
  const own = ticks(pid, [11, 12, 13, 14]).sum;
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ticks(name, [11, 12]))
    .filter(({ parent }) => parent === pid);
  return (own + children.reduce((sum, child) => sum + child.sum, 0)) * 10;
}
