import { inverseFrequency, LexicalIndex, PhraseIndex } from './lexical-index.js';
import { LexicalSearch } from './lexical-search.js';
import { everyday, rememberingTerms } from './vocabulary.js';

interface Item {
  readonly name?: string;
  readonly text?: string;
  readonly unread?: string;
}
const fields = [
  { boost: 2, text: ({ name = '' }: Item) => name },
  { boost: 1, text: ({ text = '' }: Item) => text },
];
const indexOf = (items: readonly Item[]) => LexicalIndex.of(items, fields, rememberingTerms(everyday));

describe('LexicalIndex', () => {
  let index: LexicalIndex;
  beforeAll(async () => {
    index = await indexOf([
      { name: 'disk full', text: 'text' },
      { name: 'name', text: 'disk full' },
      { name: 'name', text: 'disk disk disk full' },
      { name: 'name', text: 'text', unread: 'zebra' },
    ]);
  });

  it('knows where a term occurs, in whatever form', () => {
    expect([...(index.find('disk')?.places ?? [])]).toEqual([0, 1, 2]);
    expect(index.find('zebra')).toBeUndefined();
  });

  it('weighs a field by its boost, and repetition a little', () => {
    const [inName = 0, once = 0, thrice = 0] = index.find('disk')?.scores ?? [];
    expect(inName).toBeGreaterThan(thrice);
    expect(thrice).toBeGreaterThan(once);
    expect(thrice).toBeLessThan(3 * once);
  });

  it('weighs rare terms above common ones', () => {
    expect(inverseFrequency(1, 100)).toBeGreaterThan(inverseFrequency(50, 100));
    expect(inverseFrequency(100, 100)).toBeGreaterThan(0);
  });

  it('takes an empty list', async () => {
    expect((await indexOf([])).find('disk')).toBeUndefined();
  });
});

describe('PhraseIndex', () => {
  it('finds items of which a phrase stands whole in the query', async () => {
    const phrases = [[['disk', 'full'], []], [['disk']], [['disk', 'full']]];
    const index = await PhraseIndex.of(
      phrases,
      (each) => each,
      (term) => (term === 'full' ? 2 : 3),
    );
    expect([...index.placesIn(new Set(['my', 'full', 'disk']))].sort()).toEqual([0, 1, 2]);
    expect([...index.placesIn(new Set(['disk']))]).toEqual([1]);
    expect([...index.placesIn(new Set(['full']))]).toEqual([]);
  });
});

describe('LexicalSearch', () => {
  const items = [{ name: 'restart_worker', text: 'Restarts it' }, { name: 'mend_printer' }];
  const search = (query: string) =>
    LexicalSearch.of(items, {
      fields,
      phrases: ({ name = '' }) => [name],
      vocabulary: everyday,
    }).then((made) => made.find(query));

  it('says how far each item answers, and by which words', async () => {
    const { confidenceAt, matchedAt } = await search('please restart the worker now');
    expect(confidenceAt(0)).toBeGreaterThanOrEqual(0.7);
    expect(confidenceAt(1)).toBe(0);
    expect(matchedAt(0)).toEqual(['restart', 'worker']);
  });

  it.each([
    ['怎么处理磁盘已满的问题', 0],
    ['データベースに接続できません', 1],
    ['Kubernetes 节点磁盘空间不足', 0],
  ])('finds what %s asks for, without spaces between words', async (query, place) => {
    const playbooks = [
      { name: 'free_disk', text: '节点磁盘已满，磁盘空间不足时清理日志和镜像' },
      { name: 'database', text: 'データベースに接続できない場合に接続プールを再起動する' },
      { name: 'restart_worker', text: 'Restarts it' },
    ];
    const made = await LexicalSearch.of(playbooks, { fields, phrases: () => [], vocabulary: everyday });
    const { confidenceAt } = made.find(query);
    const confidences = playbooks.map((_, at) => confidenceAt(at));
    expect(confidences[place]).toBeGreaterThanOrEqual(0.5);
    expect(Math.max(...confidences.filter((__, at) => at !== place))).toBeLessThan(0.2);
  });

  it('answers nothing for a query without words', async () => {
    const { confidenceAt } = await search('...');
    expect(items.map((_, place) => confidenceAt(place))).toEqual([0, 0]);
  });
});
