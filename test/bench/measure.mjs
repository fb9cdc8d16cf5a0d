/** What the benchmarks share: settings from the environment, percentiles and the median of rounds. */
export const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
export const seconds = Number(process.env.BENCH_SECONDS ?? 3);
/** The compiler needs this long until the larger program runs as fast as it will. */
export const warmUpSeconds = Number(process.env.BENCH_WARM_UP ?? 10);

export const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** @param sorted ascending */
export const percentile = (sorted, share) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

/** Calls one after the other for a time. @returns latencies in ms, ascending */
export async function latencies(call, durationMs) {
  const samples = [];
  const end = performance.now() + durationMs;
  for (let begun = performance.now(); begun < end; begun = performance.now()) {
    await call();
    samples.push(performance.now() - begun);
  }
  return samples.sort((a, b) => a - b);
}

/** @returns calls a second of several callers, each with one call in flight */
export async function throughput(calls, durationMs) {
  const begun = performance.now();
  const end = begun + durationMs;
  const counts = await Promise.all(
    calls.map(async (call) => {
      let count = 0;
      for (; performance.now() < end; count++) await call();
      return count;
    }),
  );
  return (counts.reduce((sum, count) => sum + count, 0) * 1_000) / (performance.now() - begun);
}

/** Calls a light tool of a gateway. @returns the answer's status */
export function toolCall({ address, adminKey }) {
  const headers = { 'content-type': 'application/json', 'x-api-key': adminKey };
  const body = JSON.stringify({ input: { query: 'disk full' } });
  return async () => {
    const answer = await fetch(`${address}/api/v1/tools/find_tools/execute`, {
      method: 'POST',
      headers,
      body,
    });
    await answer.text();
    return answer.status;
  };
}

export const print = (text) => process.stdout.write(`${text}\n`);
