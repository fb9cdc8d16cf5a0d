import { AnswerCache } from './answer-cache.js';

function setUp(changes: Partial<ConstructorParameters<typeof AnswerCache>[0]> = {}) {
  let now = 1_000;
  const settings = { maxBytes: 10_000, freshMs: 3_600_000, staleMs: 60_000, ...changes };
  return { cache: new AnswerCache(settings, { now: () => now }), pass: (ms: number) => (now += ms) };
}

it('gives an answer while it is fresh, and says for how long it stays so', () => {
  const { cache, pass } = setUp();
  const answer = { playbooks: [] };
  cache.set('a', answer);
  pass(3_599_999);
  expect(cache.get('a')).toEqual({ answer, freshForMs: 1 });
  expect(cache.get('b')).toBeUndefined();
});

it('still has it when it is stale, and then no more', () => {
  const { cache, pass } = setUp();
  cache.set('a', { n: 1 });
  pass(3_600_000);
  expect(cache.get('a')?.freshForMs).toBe(0);
  pass(60_000);
  expect(cache.get('a')?.freshForMs).toBe(0);
  pass(1);
  expect(cache.get('a')).toBeUndefined();
});

it('stays within its bytes; what was used longest ago goes first', () => {
  const { cache } = setUp({ maxBytes: 5_000 });
  const large = { text: 'x'.repeat(1_000) };
  for (const key of ['a', 'b', 'c']) cache.set(key, large);
  cache.get('a');
  cache.set('d', large);
  expect(['a', 'b', 'c', 'd'].filter((key) => cache.get(key))).toEqual(['a', 'c', 'd']);
  expect(cache.bytes).toBeLessThanOrEqual(5_000);
  cache.set('larger than all', { text: 'x'.repeat(6_000) });
  expect(cache.get('larger than all')).toBeUndefined();
});

it('keeps nothing where nothing may be kept, and no fresh answer where only stale ones may be', () => {
  const off = setUp({ freshMs: 0, staleMs: 0 }).cache;
  off.set('a', {});
  expect(off.get('a')).toBeUndefined();
  const staleOnly = setUp({ freshMs: 0 }).cache;
  staleOnly.set('a', {});
  expect(staleOnly.get('a')).toEqual({ answer: {}, freshForMs: 0 });
});
