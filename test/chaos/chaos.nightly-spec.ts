import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { fullCount, kindNames, Suite, type SuiteResult } from './suite.js';

/** The same each time: what is new is for `npm run chaos` to find. */
const seed = Number(process.env['CHAOS_SEED'] ?? 20_779);

describe(`the short form of the chaos suite, seed ${seed}`, () => {
  let db: TestDatabase;
  let result: SuiteResult;

  beforeAll(async () => {
    db = await createTestDatabase({ connect: false });
    const suite = new Suite({
      seed,
      scale: 70 / fullCount,
      only: [],
      variables: { DATABASE_URL: db.url },
      sampleEveryMs: 0,
      maxProblems: 5,
      quietSlackMs: 30_000,
      say: () => undefined,
    });
    result = await suite.run();
  }, 600_000);

  afterAll(() => db.release());

  it('finds every caller answered, nothing crossed, nothing left behind', () => {
    expect(result.findings.problems).toEqual([]);
  });

  it('injects every kind', () => {
    const { findings } = result;
    expect(kindNames.filter((kind) => findings.countOf(kind) === 0)).toEqual([]);
  });
});
