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

/** The same each time: what is new is for `npm run chaos -- recording` to find. */
const seed = Number(process.env['CHAOS_SEED'] ?? 20_779);
/** The drain backs off for up to 5 s, and the machine has other things to do. */
const maxDrainSeconds = 60;

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

  it.each(cases)(
    '%s loses nothing and doubles nothing',
    async (_what, drill) => expectClean(await drill()),
    300_000,
  );
});

function expectClean(finding: Finding): void {
  expect(isClean(finding, maxDrainSeconds) ? 'clean' : lineOf(finding)).toBe('clean');
}
