import fc from 'fast-check';
import { canonicalJson } from '../../base/common/canonical-json.js';
import { jsonDiff } from './playbook-catalogue.service.js';

describe('jsonDiff', () => {
  it.each<[string, unknown, unknown, ReturnType<typeof jsonDiff>]>([
    ['equal values in another order', { a: 1, b: [2] }, { b: [2], a: 1 }, []],
    ['absent and undefined', { a: undefined }, {}, []],
    ['an added key', {}, { a: null }, [{ pointer: '/a', change: 'added', to: null }]],
    ['a removed member', [1, 2], [1], [{ pointer: '/1', change: 'removed', from: 2 }]],
    ['another type', { a: [] }, { a: {} }, [{ pointer: '/a', change: 'changed', from: [], to: {} }]],
    ['the whole', 'a', 'b', [{ pointer: '', change: 'changed', from: 'a', to: 'b' }]],
    [
      'a key to escape',
      { 'a/b~c': 1 },
      { 'a/b~c': 2 },
      [{ pointer: '/a~1b~0c', change: 'changed', from: 1, to: 2 }],
    ],
    ['a key of Object', {}, { constructor: 1 }, [{ pointer: '/constructor', change: 'added', to: 1 }]],
  ])('finds %s', (_what, from, to, expected) => {
    expect(jsonDiff(from, to)).toEqual(expected);
  });

  it('names no more places than fit into an answer: what holds too many is one difference', () => {
    const long = 'K'.repeat(20_000);
    const content = (n: number) => ({
      title: n,
      [long]: { small: n, steps: Object.fromEntries(Array.from({ length: 500 }, (_, at) => [at, n])) },
    });
    const [from, to] = [content(1), content(2)];
    expect(jsonDiff(from, to).map(({ pointer }) => pointer.replace(long, 'K'))).toEqual([
      '/title',
      '/K/small',
      '/K/steps',
    ]);
    expect(jsonDiff(from, to).at(-1)).toMatchObject({ change: 'changed', to: { 499: 2 } });
  });

  it('finds nothing exactly between equal values', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const [left, right] = [JSON.stringify(a), JSON.stringify(b)].map(
          (json) => JSON.parse(json) as unknown,
        );
        expect(jsonDiff(left, structuredClone(left))).toEqual([]);
        expect(jsonDiff(left, right).length === 0).toBe(canonicalJson(left) === canonicalJson(right));
      }),
    );
  });
});
