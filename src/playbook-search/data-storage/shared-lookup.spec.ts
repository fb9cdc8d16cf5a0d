import type { LookupFunction } from 'node:net';
import { sharedLookup } from './shared-lookup.js';

function setUp() {
  const asked: string[] = [];
  const answers: ((error: Error | null, address: string) => void)[] = [];
  const lookup: LookupFunction = (hostname, _options, callback) => {
    asked.push(hostname);
    answers.push((error, address) => callback(error, address, 4));
  };
  const shared = sharedLookup(lookup);
  const find = (hostname: string, all = false) =>
    new Promise((resolve, reject) =>
      shared(hostname, { all }, (error, address) => (error ? reject(error) : resolve(address))),
    );
  return { asked, answers, find };
}

it('asks once for all who ask at the same time, and again for who asks later', async () => {
  const { asked, answers, find } = setUp();
  const together = [find('a'), find('a'), find('a')];
  expect(asked).toEqual(['a']);
  answers[0]?.(null, '10.0.0.1');
  expect(await Promise.all(together)).toEqual(['10.0.0.1', '10.0.0.1', '10.0.0.1']);
  const later = find('a');
  expect(asked).toEqual(['a', 'a']);
  answers[1]?.(null, '10.0.0.2');
  expect(await later).toBe('10.0.0.2');
});

it('keeps hosts and ways of asking apart', () => {
  const { asked, find } = setUp();
  void find('a');
  void find('b');
  void find('a', true);
  expect(asked).toEqual(['a', 'b', 'a']);
});

it('tells all of a failure', async () => {
  const { answers, find } = setUp();
  const together = Promise.allSettled([find('a'), find('a')]);
  answers[0]?.(new Error('ENOTFOUND'), '');
  expect((await together).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
