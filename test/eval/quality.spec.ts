import { LexicalRanker } from '../../src/playbook-search/ranking/lexical.ranker.js';
import type { PlaybookRanking } from '../../src/playbook-search/playbook-ranker.js';
import { type EvalQuery, evalQueries, samplePlaybooks } from './eval-set.js';

/** What `npm run eval:playbooks lexical` shows may not get worse unnoticed; vectors are too slow for a test. */
const threshold = 0.7;
const everything = new Set(samplePlaybooks().map(({ playbook_id }) => playbook_id));
let ranking: PlaybookRanking;

beforeAll(async () => {
  const catalogue = samplePlaybooks().map((playbook) => ({
    labels: {},
    signals: [],
    aliases: [],
    when_to_use: null,
    ...playbook,
  }));
  ranking = await new LexicalRanker().prepare(catalogue);
});

async function shown({ text }: EvalQuery): Promise<string[]> {
  const { playbooks } = await ranking.rank({ query: text, threshold, limit: 5, labels: {} }, everything);
  return playbooks.slice(0, 5).map(({ playbookId }) => playbookId);
}

const queries = (half: EvalQuery['half'], kind: EvalQuery['kind']) =>
  evalQueries().filter((query) => query.half === half && query.kind === kind);

describe.each(['tuned', 'untouched'] as const)('words alone, the %s half', (half) => {
  it('show the right playbook for more than nine of ten ordinary queries', async () => {
    const answers = await Promise.all(
      queries(half, 'ordinary').map(async (query) => {
        const ids = await shown(query);
        return query.relevant.some((id) => ids.includes(id));
      }),
    );
    expect(answers.filter(Boolean).length / answers.length).toBeGreaterThan(0.92);
  });

  it('answer at most one query that is not theirs', async () => {
    const answers = await Promise.all(queries(half, 'off-topic').map(shown));
    expect(answers.filter((ids) => ids.length > 0).length).toBeLessThanOrEqual(1);
  });
});
