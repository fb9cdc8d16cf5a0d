import { RetrySchedule } from './retry-schedule.js';

describe('RetrySchedule', () => {
  it('lets the first try happen at once, and doubles the pause after each failure up to its longest', () => {
    const schedule = new RetrySchedule(100, 1_000);
    expect(schedule.isDue('a', 0)).toBe(true);
    const pauses: number[] = [];
    let now = 5;
    for (let n = 0; n < 6; n++) {
      schedule.failed('a', now);
      let pause = 0;
      while (!schedule.isDue('a', now + pause)) pause += 50;
      pauses.push(pause);
      now += pause;
    }
    expect(pauses).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });

  it('begins anew for what was forgotten, and keeps names apart', () => {
    const schedule = new RetrySchedule(100, 1_000);
    for (const name of ['a', 'a', 'b', 'b']) schedule.failed(name, 0);
    expect(schedule.isDue('a', 199)).toBe(false);
    schedule.forget('a');
    expect(schedule.isDue('a', 0)).toBe(true);
    schedule.failed('a', 0);
    expect(schedule.isDue('a', 100)).toBe(true);
    expect(schedule.isDue('b', 100)).toBe(false);
    schedule.keep(new Set(['a']));
    expect(schedule.isDue('b', 0)).toBe(true);
    expect(schedule.isDue('a', 99)).toBe(false);
  });

  it('never overflows', () => {
    const schedule = new RetrySchedule(100, 1_000);
    for (let n = 0; n < 5_000; n++) schedule.failed('a', 0);
    expect(schedule.isDue('a', 1_000)).toBe(true);
    expect(schedule.isDue('a', 999)).toBe(false);
  });
});
