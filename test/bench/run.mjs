/** `npm run bench`: every benchmark, each a ratio within one run. Timings of single runs mean little on shared machines. */
const wanted = process.argv.slice(2);
const benches = {
  cost: async () => (await import('./cost.bench.mjs')).benchCost(),
  door: async () => (await import('./door.bench.mjs')).benchDoor(),
  mcp: async () => (await import('./mcp.bench.mjs')).benchMcp(),
  pool: async () => {
    await (await import('./pool.bench.mjs')).benchPool();
    await (await import('./pool-isolation.bench.mjs')).benchPoolIsolation();
  },
  recording: async () => (await import('./recording.bench.mjs')).benchRecording(),
  breaker: async () => (await import('./breaker.bench.mjs')).benchBreaker(),
  metrics: async () => (await import('./metrics.bench.mjs')).benchMetrics(),
  spans: async () => (await import('./spans.bench.mjs')).benchSpans(),
  'beside-spans': async () => (await import('./beside-spans.bench.mjs')).benchBesideSpans(),
  summary: async () => (await import('./summary.bench.mjs')).benchSummary(),
  playbooks: async () => (await import('./playbooks.bench.mjs')).benchPlaybooks(),
  'cached-playbooks': async () => (await import('./cached-playbooks.bench.mjs')).benchCachedPlaybooks(),
  'data-storage': async () => (await import('./data-storage.bench.mjs')).benchDataStorage(),
  sandbox: async () => (await import('./sandbox.bench.mjs')).benchSandbox(),
};
const chosen = Object.keys(benches).filter((name) => wanted.length === 0 || wanted.includes(name));
for (const name of chosen) await benches[name]();
// It lives as long as processes may be started.
if (chosen.some((name) => name === 'pool' || name === 'sandbox'))
  await (await import('./pool-under-test.mjs')).closeLauncher();
