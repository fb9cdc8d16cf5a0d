import { cpuMsOf, load, times } from './check.mjs';

const clients = 16;
const rounds = 40;
const calls = 160;
const maxLoad = 4;

/** What a shared budget costs a call in CPU time at 16 clients. Short rounds alternate, so that what else the machine does meets both. */
export async function latency({ fleet, checks }) {
  if (load() > maxLoad)
    return checks.note(
      `SKIPPED: the load average is ${load().toFixed(1)}; it measures nothing above ${maxLoad}`,
    );
  await fleet.register('timed');
  await fleet.warm('timed');
  const [{ url, child }] = fleet.replicas;
  const cpuMs = () => cpuMsOf(child.pid) + cpuMsOf(fleet.db.pid);
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
    const before = cpuMs();
    await Promise.all(times(clients).map(client));
    return { p50: median(samples), cpuMs: cpuMs() - before };
  };
  const [without, withIt] = [[], []];
  for (const n of times(rounds + 5)) {
    const pair = [await round(() => undefined), await round(investigated)];
    // The first rounds warm up.
    if (n < 5) continue;
    without.push(pair[0]);
    withIt.push(pair[1]);
  }
  checks.check(failures.length === 0, `${failures.length} calls failed ${failures[0] ?? ''}`);
  checks.note(`p50 at ${clients} clients: ${p50Of(without)} without, ${p50Of(withIt)} with an investigation`);
  checks.check(
    cpuOf(withIt) <= cpuOf(without) * 2,
    `CPU of the replica and PostgreSQL: ${cpuOf(without).toFixed(0)} us a call without, ${cpuOf(withIt).toFixed(0)} us with an investigation (at most twice)`,
  );
}

const p50Of = (found) => `${median(found.map(({ p50 }) => p50)).toFixed(1)} ms`;
const cpuOf = (found) => (found.reduce((sum, { cpuMs }) => sum + cpuMs, 0) * 1_000) / (found.length * calls);
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
