import fc from 'fast-check';
import type { SearchablePlaybook } from '../../playbooks/playbook.types.js';
import type { RankRequest } from '../playbook-ranker.js';
import type { SemanticScores } from '../embeddings/vector-store.js';
import { BlendedRanker, type SemanticSearch } from './blended.ranker.js';
import { LexicalRanker } from './lexical.ranker.js';

/** Search in words only. */
const noSemantics: SemanticSearch = {
  revision: '',
  follow: () => undefined,
  scores: async () => ({ calibration: { floor: 0, cut: 0.7 }, cosines: new Map(), degraded: undefined }),
};

const playbook = (playbook_id: string, over: Partial<SearchablePlaybook> = {}): SearchablePlaybook => ({
  playbook_id,
  version: '1.0.0',
  name: 'Restart the billing worker',
  description: 'The billing worker hangs on its queue. Restarts it.',
  labels: {},
  signals: ['BillingQueueStalled'],
  aliases: [],
  when_to_use: null,
  ...over,
});
const catalogue = [
  playbook('a'),
  playbook('b', { name: 'Mend the printer', description: 'Paper jam.', signals: ['PaperJam'] }),
];

const meaning = (cosines: Record<string, number>, over: Partial<SemanticScores> = {}): SemanticSearch => ({
  ...noSemantics,
  scores: async (_query, candidates) => ({
    calibration: { floor: 0.2, cut: 0.4 },
    cosines: new Map(Object.entries(cosines).filter(([id]) => candidates.has(id))),
    degraded: undefined,
    ...over,
  }),
});

const asked: RankRequest = { query: 'billing queue stalled', threshold: 0, limit: 10 };

async function rank(search: SemanticSearch, over: Partial<RankRequest> = {}, candidates = ['a', 'b']) {
  const ranking = await new BlendedRanker(new LexicalRanker(), search).prepare(catalogue);
  return ranking.rank({ ...asked, ...over }, new Set(candidates));
}

describe('BlendedRanker', () => {
  it('finds by meaning what shares no word', async () => {
    const { playbooks } = await rank(meaning({ b: 0.7 }), { query: 'sheets get stuck' });
    expect(playbooks).toEqual([{ playbookId: 'b', confidence: expect.closeTo(0.85) }]);
  });

  it('takes the more convincing of words and meaning', async () => {
    const words = (await rank(noSemantics)).playbooks[0]?.confidence ?? 0;
    expect(words).toBeGreaterThan(0.7);
    expect((await rank(meaning({ a: 0.1 }))).playbooks[0]?.confidence).toBe(words);
    expect((await rank(meaning({ a: 1 }))).playbooks[0]?.confidence).toBe(1);
  });

  it('leaves out what lies below the threshold, but not when it explains', async () => {
    const search = meaning({ a: 0.1, b: 0.3 });
    expect((await rank(search, { threshold: 0.7 })).playbooks.map(({ playbookId }) => playbookId)).toEqual([
      'a',
    ]);
    const { playbooks } = await rank(search, { threshold: 0.7, explain: true });
    expect(playbooks.map(({ explanation }) => explanation)).toEqual([
      expect.objectContaining({ cosine: 0.1, matchedTerms: ['bill', 'queue', 'stall'] }),
      {
        lexical: 0,
        cosine: 0.3,
        matchedTerms: [],
      },
    ]);
    expect(playbooks[0]?.explanation?.lexical).toBe(playbooks[0]?.confidence);
    expect(playbooks[1]?.confidence).toBeCloseTo(0.35);
  });

  it('goes by words alone where meaning is not to be had, and says so', async () => {
    const poorer = await rank(meaning({}, { degraded: 'timed_out' }));
    expect(poorer.degraded).toBe('timed_out');
    expect(poorer.playbooks).toEqual((await rank(noSemantics)).playbooks);
    expect(poorer.playbooks.length).toBeGreaterThan(0);
  });

  it('asks for the meaning of candidates only', async () => {
    const seen: ReadonlySet<string>[] = [];
    const search: SemanticSearch = {
      ...noSemantics,
      scores: (query, wanted, signal) => {
        seen.push(wanted);
        return noSemantics.scores(query, wanted, signal);
      },
    };
    const ranking = await new BlendedRanker(new LexicalRanker(), search).prepare(catalogue);
    const candidates = new Set(['b']);
    await ranking.rank(asked, candidates);
    expect(seen).toEqual([candidates]);
  });

  it('never shows what is no candidate, in the same order every time', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e'];
    const many = ids.map((id) =>
      playbook(id, id > 'c' ? { signals: ['DiskFull'], name: 'Free the disk' } : {}),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.subarray(ids),
        fc.array(fc.constantFrom(0, 0.1, 0.3, 0.5, 0.9), { minLength: 5, maxLength: 5 }),
        async (candidates, values) => {
          const cosines = Object.fromEntries(many.map((each, at) => [each.playbook_id, values[at] ?? 0]));
          const ranker = new BlendedRanker(new LexicalRanker(), meaning(cosines));
          const ranks = async (set: Set<string>) =>
            (await (await ranker.prepare(many)).rank(asked, set)).playbooks;
          const ranked = await ranks(new Set(candidates));
          expect(ranked.filter(({ playbookId }) => !candidates.includes(playbookId))).toEqual([]);
          expect(await ranks(new Set([...candidates].reverse()))).toEqual(ranked);
          const confidences = ranked.map(({ confidence }) => confidence);
          expect(confidences).toEqual([...confidences].sort((x, y) => y - x));
        },
      ),
    );
  });

  it('has another revision when meaning has', () => {
    const ranker = new BlendedRanker(new LexicalRanker(), { ...noSemantics, revision: 'other' });
    expect(ranker.revision).toBe('other');
  });
});
