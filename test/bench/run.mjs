/** `npm run bench`: every benchmark, each a ratio within one run. Timings of single runs mean little on shared machines. */
import { benchDoor } from './door.bench.mjs';

const wanted = process.argv.slice(2);
const benches = { door: benchDoor };
for (const [name, bench] of Object.entries(benches)) {
  if (wanted.length === 0 || wanted.includes(name)) await bench();
}
