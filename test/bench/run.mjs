/** `npm run bench`: every benchmark, each a ratio within one run. Timings of single runs mean little on shared machines. */
const wanted = process.argv.slice(2);
const benches = {
  door: async () => (await import('./door.bench.mjs')).benchDoor(),
  pool: async () => {
    await (await import('./pool.bench.mjs')).benchPool();
    await (await import('./pool-isolation.bench.mjs')).benchPoolIsolation();
    await (await import('./pool-under-test.mjs')).closeLauncher();
  },
};
for (const [name, bench] of Object.entries(benches)) {
  if (wanted.length === 0 || wanted.includes(name)) await bench();
}
