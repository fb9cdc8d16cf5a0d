import { times } from './check.mjs';

const clients = 16;
const rounds = 4;
const calls = 1_000;

/** What a shared budget costs a call: p50 at 16 clients, with an investigation and without, in turn; the least of the rounds. */
export async function latency({ fleet, checks }) {
  await fleet.register('timed');
  await fleet.warm('timed');
  const [{ url }] = fleet.replicas;
  let investigation = 0;
  const sides = {
    without: () => fleet.call('timed', {}, { url }),
    // Each has ten calls.
    with: () =>
      fleet.call(
        'timed',
        {},
        { url, context: { investigationId: `timed-${Math.floor(investigation++ / 10)}` } },
      ),
  };
  const best = { without: Infinity, with: Infinity };
  const failures = [];
  for (const round of times(rounds + 1))
    for (const [side, call] of Object.entries(sides)) {
      let left = calls;
      const samples = [];
      const client = async () => {
        while (left-- > 0) {
          const { ms, said } = await call();
          samples.push(ms);
          if (said !== 'success') failures.push(said);
        }
      };
      await Promise.all(times(clients).map(client));
      const p50 = samples.sort((a, b) => a - b)[Math.floor(samples.length / 2)];
      // The first round warms up.
      if (round > 0) best[side] = Math.min(best[side], p50);
    }
  const more = best.with - best.without;
  checks.check(failures.length === 0, `${failures.length} calls failed ${failures[0] ?? ''}`);
  checks.check(
    more <= 3,
    `p50 at ${clients} clients: ${best.without.toFixed(1)} ms without, ${best.with.toFixed(1)} ms with an investigation, + ${more.toFixed(1)} (at most + 3)`,
  );
}
