/**
 * What a `process.nextTick` costs after garbage collections in quiet moments, with and without the tick that the server
 * holds (src/common/held-tick.ts): each in processes of its own, in turns.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { median, print, rounds } from './measure.mjs';

const held = fileURLToPath(new URL('../../dist/src/common/held-tick.js', import.meta.url));
const program = `
  import { setImmediate as turn } from 'node:timers/promises';
  if (process.argv[1]) await import(process.argv[1]);
  const ticks = (count) => new Promise((resolve) => {
    const tick = () => (--count > 0 ? process.nextTick(tick) : resolve());
    process.nextTick(tick);
  });
  for (let collection = 0; collection < 6; collection++) {
    await ticks(10);
    await turn();
    gc();
  }
  await ticks(200_000);
  const begun = process.hrtime.bigint();
  await ticks(500_000);
  console.log(Number(process.hrtime.bigint() - begun) / 500_000);`;

const cost = (...args) =>
  Number(
    execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '--eval', program, ...args], {
      encoding: 'utf8',
    }),
  );

export async function benchTicks() {
  const pairs = Array.from({ length: rounds }, () => [cost(), cost(held)]);
  const [without, withIt] = [0, 1].map((at) => median(pairs.map((pair) => pair[at])));
  const ratio = median(pairs.map(([lost, kept]) => lost / kept));
  print(
    `a tick: ${without.toFixed(0)} ns, with one held ${withIt.toFixed(0)} ns: ${ratio.toFixed(1)} times less`,
  );
}
