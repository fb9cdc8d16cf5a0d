import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { fullCount, kindNames, Suite, type SuiteResult } from './suite.js';

/** Another one every day; the title says which, `CHAOS_SEED=… npm run chaos` repeats it. */
const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(Date.now() / 86_400_000));

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
      mostProblems: 5,
      say: () => undefined,
    });
    result = await suite.run();
  }, 180_000);

  afterAll(() => db.drop());

  it('finds every caller answered, nothing crossed, nothing left behind', () => {
    expect(result.findings.problems).toEqual([]);
  });

  it('injects every kind', () => {
    const { findings } = result;
    expect(kindNames.filter((kind) => findings.countOf(kind) === 0)).toEqual([]);
  });
});
