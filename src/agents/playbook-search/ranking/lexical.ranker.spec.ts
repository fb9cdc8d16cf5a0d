import { termsOf } from '../../../base/lexical-search/vocabulary.js';
import { LexicalRanker, searchedTexts } from './lexical.ranker.js';
import type { SearchablePlaybook } from '../../playbooks/playbook.types.js';

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

async function rank(
  query: string,
  catalogue: SearchablePlaybook[],
  candidates = catalogue.map((p) => p.playbook_id),
) {
  const ranking = await new LexicalRanker().prepare(catalogue);
  const request = { query, threshold: 0, limit: 10 };
  return (await ranking.rank(request, new Set(candidates))).playbooks;
}

describe('LexicalRanker', () => {
  it('ranks nothing in an empty catalogue, and nothing for an empty query', async () => {
    expect(await rank('queue stalled', [])).toEqual([]);
    expect(await rank('...', [playbook('a')])).toEqual([]);
  });

  it('works in a catalogue of one as it does in a large one', async () => {
    const [hit] = await rank('billing queue stalled, worker hangs', [playbook('a')]);
    expect(hit?.confidence).toBeGreaterThanOrEqual(0.7);
    const [noise] = await rank('worker on holiday in Portugal next week', [playbook('a')]);
    expect(noise?.confidence ?? 0).toBeLessThan(0.7);
  });

  it('orders equals by id', async () => {
    const ranked = await rank('billing queue', [playbook('c'), playbook('a'), playbook('b')]);
    expect(ranked.map(({ playbookId }) => playbookId)).toEqual(['a', 'b', 'c']);
    expect(new Set(ranked.map(({ confidence }) => confidence)).size).toBe(1);
  });

  it('ranks candidates only, with the score that they have among all', async () => {
    const catalogue = [playbook('a'), playbook('b', { name: 'Restart the mail worker' })];
    const all = await rank('billing queue', catalogue);
    expect(await rank('billing queue', catalogue, ['b'])).toEqual(
      all.filter(({ playbookId }) => playbookId === 'b'),
    );
  });

  it('explains a confidence when it is asked to, without changing it', async () => {
    const ranking = await new LexicalRanker().prepare([playbook('a')]);
    const request = { query: 'the billing queue stalled', threshold: 0, limit: 10 };
    const plain = await ranking.rank(request, new Set(['a']));
    const { playbooks } = await ranking.rank({ ...request, explain: true }, new Set(['a']));
    const confidence = plain.playbooks[0]?.confidence;
    expect(playbooks).toEqual([
      {
        playbookId: 'a',
        confidence,
        explanation: {
          lexical: confidence,
          cosine: null,
          matchedTerms: ['bill', 'queue', 'stall'],
        },
      },
    ]);
  });

  it('never reads labels', async () => {
    const catalogue = [playbook('a', { labels: { team: 'zebra' } })];
    expect(await rank('zebra', catalogue)).toEqual([]);
  });

  it('takes a long query in its stride', async () => {
    const words = Array.from({ length: 500 }, (_, at) => `word${at}`).join(' ');
    expect((await rank(`${words} billing queue stalled`, [playbook('a')])).length).toBe(1);
  });
});

describe('words of incidents', () => {
  const terms = (text: string) => termsOf(text, searchedTexts.vocabulary);

  it('meets a reason written in another way', () => {
    expect(terms('oom killed')).toEqual(expect.arrayContaining(terms('memory kill')));
    expect(terms('OOMKilled')).toEqual(expect.arrayContaining(terms('memory kill')));
  });

  it('leaves out the words of asking', () => {
    expect(terms('Please help, the pods are failing: issues, problems')).toEqual(['pod', 'fail']);
  });
});
