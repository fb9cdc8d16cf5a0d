import type { SearchablePlaybook } from '../../playbooks/playbook.types.js';
import { inverseFrequency, LexicalIndex } from './lexical-index.js';
import { SignalIndex } from './signal-index.js';

const playbook = (over: Partial<SearchablePlaybook>): SearchablePlaybook => ({
  playbook_id: 'x',
  version: '1.0.0',
  name: 'name',
  description: 'text',
  labels: {},
  signals: [],
  aliases: [],
  when_to_use: null,
  ...over,
});

describe('LexicalIndex', () => {
  let index: LexicalIndex;
  beforeAll(async () => {
    index = await LexicalIndex.of([
      playbook({ name: 'disk full' }),
      playbook({ description: 'disk full' }),
      playbook({ description: 'disk disk disk full' }),
      playbook({ labels: { team: 'zebra' } }),
    ]);
  });

  it('knows where a term occurs, in whatever form', () => {
    expect([...(index.find('disk')?.places ?? [])]).toEqual([0, 1, 2]);
    expect(index.find('zebra')).toBeUndefined();
  });

  it('weighs the name above the description, and repetition a little', () => {
    const [inName = 0, once = 0, thrice = 0] = index.find('disk')?.scores ?? [];
    expect(inName).toBeGreaterThan(thrice);
    expect(thrice).toBeGreaterThan(once);
    expect(thrice).toBeLessThan(3 * once);
  });

  it('weighs rare terms above common ones', () => {
    expect(inverseFrequency(1, 100)).toBeGreaterThan(inverseFrequency(50, 100));
    expect(inverseFrequency(100, 100)).toBeGreaterThan(0);
  });

  it('takes an empty catalogue', async () => {
    expect((await LexicalIndex.of([])).find('disk')).toBeUndefined();
  });
});

describe('SignalIndex', () => {
  it('finds playbooks of which a phrase stands whole in the query', async () => {
    const phrases = [[['disk', 'full'], []], [['disk']], [['disk', 'full']]];
    const index = await SignalIndex.of(
      phrases,
      (each) => each,
      (term) => (term === 'full' ? 2 : 3),
    );
    expect([...index.shownIn(new Set(['my', 'full', 'disk']))].sort()).toEqual([0, 1, 2]);
    expect([...index.shownIn(new Set(['disk']))]).toEqual([1]);
    expect([...index.shownIn(new Set(['full']))]).toEqual([]);
  });
});
