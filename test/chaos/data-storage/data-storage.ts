/** `npm run chaos -- data-storage`: 200 of each fault with scaled times, then some of them with the real ones. */
import { type Finding, followModel, lineOf, meetFault } from './drills.js';
import { faults } from './faults.js';
import { realTimes, Rig } from './rig.js';

const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(Math.random() * 2 ** 32));
const count = Number(process.env['CHAOS_FAULTS'] ?? 200);
const only = (process.env['CHAOS_KINDS'] ?? '').split(',').filter(Boolean);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const told = (finding: Finding): void => {
  say(lineOf(finding));
  if (finding.problems.length > 0) process.exitCode = 1;
};

const unknown = only.filter((name) => !faults.some((fault) => fault.name === name));
if (unknown.length > 0) throw new Error(`CHAOS_KINDS: ${unknown.join(', ')} are unknown`);
const chosen = faults.filter(({ name }) => only.length === 0 || only.includes(name));
say(`chaos against the Data Storage client: CHAOS_SEED=${seed}`);
const began = Date.now();
const rig = await Rig.start();
try {
  say(`\n${count} of each, times scaled by 20`);
  for (const fault of chosen) told(await meetFault(rig, fault, count));
  say('\nreal times: 2 s a try, 5 s in all');
  for (const fault of chosen) told(await meetFault(rig, fault, 16, realTimes));
  say('\nthe circuit against its model');
  for (let n = 0; n < 5; n++) told(await followModel(rig, seed + n, 200));
} finally {
  await rig.stop();
}
say(`${((Date.now() - began) / 1_000).toFixed(0)} s; repeat with CHAOS_SEED=${seed}`);
