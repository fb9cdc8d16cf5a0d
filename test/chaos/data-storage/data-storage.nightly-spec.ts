import { followModel, meetFault } from './drills.js';
import { faults } from './faults.js';
import { Rig } from './rig.js';

/** The same each time: what is new is for `npm run chaos -- data-storage` to find. */
const seed = Number(process.env['CHAOS_SEED'] ?? 20_779);

describe(`the short form of the chaos against the Data Storage client, seed ${seed}`, () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start();
  });
  afterAll(() => rig.stop());

  it.each(faults.map((fault) => [fault.name, fault] as const))(
    '%s: ends in time and as it must, asked no more often than it may',
    async (_name, fault) => {
      const { problems, questions } = await meetFault(rig, fault, 8);
      expect(problems).toEqual([]);
      expect(questions).toBe(8);
    },
  );

  it('tries and opens as the naive model does', async () => {
    const { problems, questions } = await followModel(rig, seed, 80);
    expect(problems).toEqual([]);
    expect(questions).toBeGreaterThan(30);
  });
});
