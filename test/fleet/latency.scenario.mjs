import { load, times } from './check.mjs';

const clients = 16;
const rounds = 40;
const calls = 160;
const maxLoad = 4;

/**
 * What a shared budget costs a call: p50 at 16 clients, with an investigation less without. Short rounds alternate, so that what else the
 * machine does meets both; the median of their differences counts.
 */
export async function latency({ fleet, checks }) {
  if (load() > maxLoad)
    return checks.note(
      `SKIPPED: the load average is ${load().toFixed(1)}; it measures nothing above ${maxLoad}`,
    );
  await fleet.register('timed');
  await fleet.warm('timed');
  const [{ url }] = fleet.replicas;
  let made = 0;
  // Each investigation has ten calls.
  const investigated = () => ({ investigationId: `timed-${Math.floor(made++ / 10)}` });
  const failures = [];
  const round = async (contextOf) => {
    const samples = [];
    let left = calls;
    const client = async () => {
      while (left-- > 0) {
        const { ms, said } = await fleet.call('timed', {}, { url, context: contextOf() });
        samples.push(ms);
        if (said !== 'success') failures.push(said);
      }
    };
    await Promise.all(times(clients).map(client));
    return median(samples);
  };
  const found = [];
  for (const n of times(rounds + 5)) {
    const without = await round(() => undefined);
    const withIt = await round(investigated);
    // The first rounds warm up.
    if (n >= 5) found.push({ without, withIt, more: withIt - without });
  }
  checks.check(failures.length === 0, `${failures.length} calls failed ${failures[0] ?? ''}`);
  const of = (name) => median(found.map((each) => each[name])).toFixed(1);
  checks.check(
    Number(of('more')) <= 3,
    `p50 at ${clients} clients: ${of('without')} ms without, ${of('withIt')} ms with an investigation, + ${of('more')} (at most + 3)`,
  );
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
