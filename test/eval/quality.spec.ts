import { LexicalRanker } from '../../src/agents/playbook-search/ranking/lexical.ranker.js';
import type { PlaybookRanking } from '../../src/agents/playbook-search/playbook-ranker.js';
import type { CreatePlaybookBody } from '../../src/agents/playbooks/playbook-bodies.dto.js';
import { type EvalQuery, evalQueries, plainSet, samplePlaybooks } from './eval-set.js';

/** What `npm run eval:playbooks` shows of words alone may not get worse unnoticed. */
const threshold = 0.7;

const plain = plainSet();
const sets = [
  {
    name: 'rich',
    playbooks: samplePlaybooks(),
    queries: evalQueries(),
    shownAtLeast: 0.92,
    answeredAtMost: 2,
  },
  { name: 'plain', ...plain, shownAtLeast: 0.62, answeredAtMost: 2 },
];

describe.each(sets)(
  'words alone, $name playbooks',
  ({ playbooks, queries, shownAtLeast, answeredAtMost }) => {
    const everything = new Set(playbooks.map(({ playbook_id }) => playbook_id));
    let ranking: PlaybookRanking;
    beforeAll(async () => {
      ranking = await new LexicalRanker().prepare(playbooks.map(withEveryField));
    });

    const answers = (
      half: EvalQuery['half'],
      kind: EvalQuery['kind'],
    ): Promise<{ ids: string[]; right: boolean }[]> =>
      Promise.all(
        queries
          .filter((query) => query.half === half && query.kind === kind)
          .map(async ({ text, relevant }) => {
            const found = await ranking.rank({ query: text, threshold, limit: 5 }, everything);
            const ids = found.playbooks.slice(0, 5).map(({ playbookId }) => playbookId);
            return { ids, right: relevant.some((id) => ids.includes(id)) };
          }),
      );

    it.each(['tuned', 'untouched'] as const)(
      'show the right one for most ordinary queries of the %s half',
      async (half) => {
        const given = await answers(half, 'ordinary');
        expect(given.filter(({ right }) => right).length / given.length).toBeGreaterThanOrEqual(shownAtLeast);
      },
    );

    it.each(['tuned', 'untouched'] as const)(
      'answer hardly a query of the %s half that is not theirs',
      async (half) => {
        const given = await answers(half, 'off-topic');
        expect(given.filter(({ ids }) => ids.length > 0).length).toBeLessThanOrEqual(answeredAtMost);
      },
    );
  },
);

const withEveryField = (playbook: CreatePlaybookBody) => ({
  labels: {},
  signals: [],
  aliases: [],
  when_to_use: null,
  ...playbook,
});
