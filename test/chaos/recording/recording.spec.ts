import { Random } from '../random.js';
import {
  crashDrain,
  type Finding,
  freezeDatabase,
  killGateway,
  restartDatabase,
  swallowCommits,
  terminateBackends,
} from './drills.js';
import { isClean, lineOf } from './findings.js';

/** Another one every day; `CHAOS_SEED=… npm run chaos -- recording` repeats it. */
const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(Date.now() / 86_400_000));

/** real: the built server, its tools, its PostgreSQL, TCP, the disk; nothing is mocked. */
describe(`the short form of the recording's chaos, seed ${seed}`, () => {
  const random = new Random(seed);
  const cases: readonly (readonly [string, () => Promise<Finding>])[] = [
    ['SIGKILL of the gateway', () => killGateway(random, 2, 50)],
    [
      'SIGKILL of the gateway, JOURNAL_DURABILITY=power',
      () => killGateway(random, 1, 20, { JOURNAL_DURABILITY: 'power' }),
    ],
    ['PostgreSQL stopped at once and started again', () => restartDatabase(random, 2, 100)],
    ['PostgreSQL frozen', () => freezeDatabase(1, 100)],
    ['every backend terminated', () => terminateBackends(1, 100)],
    ['commits whose answers are swallowed', () => swallowCommits(4)],
    ['the death of the drain', () => crashDrain(2)],
  ];

  it.each(cases)('%s loses nothing and doubles nothing', async (_what, drill) => expectClean(await drill()));
});

function expectClean(finding: Finding): void {
  expect(isClean(finding) ? 'clean' : lineOf(finding)).toBe('clean');
}
