import type { Finding } from './drills.js';

/** The database is back, or the next gateway ready: so long may the backlog take on a quiet machine. */
const maxDrainSecondsWhenQuiet = 10;

export function lineOf({ drill, rounds, verdict, drainSeconds, figures }: Finding): string {
  const { calls, acknowledged, refused, interrupted, lost, doubled, wrong, phantom } = verdict;
  const own = Object.entries(figures).map(([name, value]) => `, ${name} ${value}`);
  return (
    `${drill}: ${rounds} rounds, ${calls} calls, ${acknowledged} acknowledged, ${refused} refused, ` +
    `${interrupted} interrupted, ${lost} lost, ${doubled} doubled, ${wrong} wrong, ${phantom} phantoms, ` +
    `drained in at most ${drainSeconds.toFixed(1)} s${own.join('')}`
  );
}

/** Nothing lost, doubled or changed, the backlog gone in time, and calls answered while something was away. */
export function isClean(
  { verdict, drainSeconds, figures }: Finding,
  maxDrainSeconds = maxDrainSecondsWhenQuiet,
): boolean {
  const { acknowledged, lost, doubled, wrong, phantom } = verdict;
  const faults = lost + doubled + wrong + phantom;
  return (
    acknowledged > 0 &&
    faults === 0 &&
    drainSeconds < maxDrainSeconds &&
    (figures['fewestAnsweredMeanwhile'] ?? 1) > 0
  );
}
