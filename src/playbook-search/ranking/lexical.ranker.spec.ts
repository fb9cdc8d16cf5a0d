import { LexicalRanker } from './lexical.ranker.js';
import type { SearchablePlaybook } from '../playbook.types.js';

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
  return ranking.rank(query, new Set(candidates));
}

describe('LexicalRanker', () => {
  it('ranks nothing in an empty catalogue, and nothing for an empty query', async () => {
    expect(await rank('queue stalled', [])).toEqual([]);
    expect(await rank('...', [playbook('a')])).toEqual([]);
  });

  it('works in a catalogue of one as it does in a large one', async () => {
    const [hit] = await rank('billing queue stalled, worker hangs', [playbook('a')]);
    expect(hit?.score).toBeGreaterThanOrEqual(0.7);
    const [noise] = await rank('worker on holiday in Portugal next week', [playbook('a')]);
    expect(noise?.score ?? 0).toBeLessThan(0.7);
  });

  it('orders equals by id', async () => {
    const ranked = await rank('billing queue', [playbook('c'), playbook('a'), playbook('b')]);
    expect(ranked.map(({ playbookId }) => playbookId)).toEqual(['a', 'b', 'c']);
    expect(new Set(ranked.map(({ score }) => score)).size).toBe(1);
  });

  it('ranks candidates only, with the score that they have among all', async () => {
    const catalogue = [playbook('a'), playbook('b', { name: 'Restart the mail worker' })];
    const all = await rank('billing queue', catalogue);
    expect(await rank('billing queue', catalogue, ['b'])).toEqual(
      all.filter(({ playbookId }) => playbookId === 'b'),
    );
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
