import { gathered } from './gathered.js';

afterEach(() => {
  jest.useRealTimers();
});

it('does once what is asked for within a moment, and waits for its end before it does so again', async () => {
  jest.useFakeTimers();
  const ends: (() => void)[] = [];
  const ask = gathered(() => new Promise<void>((resolve) => ends.push(resolve)), 500);
  const begunAfter = async (ms: number): Promise<number> => {
    await jest.advanceTimersByTimeAsync(ms);
    return ends.length;
  };
  for (let times = 0; times < 3; times += 1) ask();
  expect([await begunAfter(499), await begunAfter(1)]).toEqual([0, 1]);
  for (let times = 0; times < 3; times += 1) ask();
  expect(await begunAfter(5_000)).toBe(1);
  ends[0]?.();
  expect([await begunAfter(499), await begunAfter(1)]).toEqual([1, 2]);
  ends[1]?.();
  expect(await begunAfter(5_000)).toBe(2);
});
