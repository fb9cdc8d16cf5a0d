import { CircuitBreaker } from './circuit-breaker.js';
import type { CircuitChange, CircuitKind, CircuitPast, CircuitSettings } from './circuit-state.js';

const settings: CircuitSettings = {
  failures: 5,
  minFailureRate: 0.5,
  windowMs: 300_000,
  openMs: 30_000,
  maxOpenMs: 300_000,
  probes: 3,
};

/** An act of an operator. */
const hand = (breaker: CircuitBreaker, to: 'open' | 'closed', reason: string, at = 1_000_000) =>
  breaker.adopt({ to, at, by: 'alice', reason, openings: breaker.current().openings });

function setUp(changes: Partial<CircuitSettings> = {}) {
  const clock = { time: 1_000_000, now: () => clock.time };
  const transitions: CircuitChange[] = [];
  let random = 0;
  const onChange = (change: CircuitChange) => transitions.push(change);
  const breaker = new CircuitBreaker({ ...settings, ...changes }, clock, () => random, onChange);
  let calls = 0;
  return {
    breaker,
    clock,
    transitions,
    jitter: (value: number) => (random = value),
    /** Results of calls that hold no slot. */
    results: (count: number, fault: boolean) => {
      for (let i = 0; i < count; i++) breaker.record({ executionId: `call-${calls++}`, fault });
    },
    admitted: () => breaker.admit(`call-${calls++}`).kind,
    /** A whole call. */
    call: (fault: boolean) => {
      const executionId = `call-${calls++}`;
      const { kind } = breaker.admit(executionId);
      if (kind !== 'refuse') breaker.record({ executionId, fault });
      return kind;
    },
  };
}

/** Opens the circuit and waits until it probes. */
function setUpHalfOpen(changes: Partial<CircuitSettings> = {}) {
  const it = setUp(changes);
  it.results(5, true);
  it.clock.time += 30_000;
  expect(it.breaker.current().kind).toBe('half_open');
  return it;
}

describe('openSince', () => {
  it('counts from the first opening, whatever probes fail, until it is closed', () => {
    const { breaker, clock, results, call } = setUp();
    expect(breaker.openSince()).toBeNull();
    results(5, true);
    for (const opening of [1, 2, 3]) {
      clock.time += 30_000 * 2 ** (opening - 1);
      expect([call(true), breaker.openSince()]).toEqual(['probe', 1_000_000]);
    }
    hand(breaker, 'open', 'held', clock.time);
    expect(breaker.openSince()).toBe(1_000_000);
    hand(breaker, 'closed', 'mended', clock.time);
    expect(breaker.openSince()).toBeNull();
    hand(breaker, 'open', 'again', clock.time + 1);
    expect(breaker.openSince()).toBe(clock.time + 1);
  });
});

describe('a closed circuit', () => {
  it('lets calls pass and takes up to four faults', () => {
    const { breaker, results, admitted } = setUp();
    results(4, true);
    expect(admitted()).toBe('pass');
    const closed = { kind: 'closed', since: 1_000_000, reason: null, by: null, openings: 0 };
    expect(breaker.current()).toEqual(closed);
  });

  it('opens with the fifth fault', () => {
    const { breaker, results, transitions } = setUp();
    results(5, true);
    const reason = '5 of 5 calls in the last 300 s were tool faults';
    const open = { kind: 'open', since: 1_000_000, reason, by: null, until: 1_030_000, openings: 1 };
    expect(breaker.current()).toEqual(open);
    const change = { at: 1_000_000, from: 'closed', to: 'open', reason, by: null, openings: 1 };
    expect(transitions).toEqual([change]);
  });

  it.each([
    [5, 'open'],
    [6, 'closed'],
  ])('with five faults after %d successes is %s: half of the calls must have failed', (successes, state) => {
    const { breaker, results } = setUp();
    results(successes, false);
    results(5, true);
    expect(breaker.current().kind).toBe(state);
  });

  it('counts faults alone when the rate is 0', () => {
    const { breaker, results } = setUp({ minFailureRate: 0 });
    results(10_000, false);
    results(5, true);
    expect(breaker.current().kind).toBe('open');
  });

  it.each([
    [51, 49, 'closed'],
    [50, 50, 'open'],
    [49, 51, 'open'],
  ])('with %d successes and %d faults is %s: 50 %% is enough, 49 %% is not', (successes, faults, state) => {
    const { breaker, results } = setUp();
    results(successes, false);
    results(faults, true);
    expect(breaker.current().kind).toBe(state);
  });

  it.each([7, 14, 28, 29, 55, 57, 58])('opens at exactly %d %% where that is the rate', (percent) => {
    // 100 · 0.07 is a little more than 7 for a computer.
    const { breaker, results } = setUp({ minFailureRate: percent / 100 });
    results(100 - percent, false);
    results(percent - 1, true);
    expect(breaker.current().kind).toBe('closed');
    results(1, true);
    expect(breaker.current().kind).toBe('open');
  });

  it('never opens by a success', () => {
    const { breaker, clock, results } = setUp();
    results(6, false);
    clock.time += 200_000;
    results(5, true);
    // The early successes leave the window: the rate is now high enough, but nothing failed.
    clock.time += 150_000;
    results(1, false);
    expect(breaker.current().kind).toBe('closed');
    results(1, true);
    expect(breaker.current().kind).toBe('open');
  });

  it('forgets faults that are older than the window', () => {
    const { breaker, clock, results } = setUp();
    results(4, true);
    expect(breaker.counts()).toEqual({ calls: 4, faults: 4 });
    clock.time += 300_000;
    results(1, true);
    expect(breaker.counts()).toEqual({ calls: 1, faults: 1 });
    expect(breaker.current().kind).toBe('closed');
  });
});

describe('an open circuit', () => {
  it('refuses until its time is over, and says how long that is', () => {
    const { breaker, clock, results } = setUp();
    results(5, true);
    clock.time += 10_000;
    const reason = '5 of 5 calls in the last 300 s were tool faults';
    expect(breaker.admit('a')).toEqual({ kind: 'refuse', reason, retryAfterMs: 20_000 });
    clock.time += 19_999;
    expect(breaker.admit('b')).toEqual({ kind: 'refuse', reason, retryAfterMs: 1 });
    clock.time += 1;
    expect(breaker.admit('c').kind).toBe('probe');
  });

  it('is not moved by results of calls that were admitted before', () => {
    const { breaker, results, transitions } = setUp();
    results(5, true);
    results(10, false);
    results(10, true);
    expect(breaker.current()).toMatchObject({ kind: 'open', until: 1_030_000 });
    expect(breaker.counts()).toEqual({ calls: 25, faults: 15 });
    expect(transitions).toHaveLength(1);
  });

  it('dates its half-open phase by the clock, not by the next look', () => {
    const { breaker, clock, results, transitions } = setUp();
    results(5, true);
    clock.time += 99_000;
    expect(breaker.current()).toMatchObject({ kind: 'half_open', since: 1_030_000 });
    expect(transitions[1]).toMatchObject({ at: 1_030_000, from: 'open', to: 'half_open' });
  });
});

describe('a half-open circuit', () => {
  it('lets as many calls try as it has probes and refuses the rest', () => {
    const { breaker, admitted } = setUpHalfOpen();
    expect([admitted(), admitted(), admitted()]).toEqual(['probe', 'probe', 'probe']);
    expect(breaker.admit('late')).toMatchObject({ kind: 'refuse', retryAfterMs: 1_000 });
  });

  it('does not let more try than it still needs', () => {
    const { call, admitted } = setUpHalfOpen();
    expect([call(false), call(false)]).toEqual(['probe', 'probe']);
    expect([admitted(), admitted()]).toEqual(['probe', 'refuse']);
  });

  it('closes with an empty window after three successes', () => {
    const { breaker, call, transitions } = setUpHalfOpen();
    expect([false, false, false, false].map(call)).toEqual(['probe', 'probe', 'probe', 'pass']);
    expect(breaker.current()).toMatchObject({ kind: 'closed', reason: '3 probes succeeded' });
    expect(breaker.counts()).toEqual({ calls: 1, faults: 0 });
    expect(transitions.map(({ to }) => to)).toEqual(['open', 'half_open', 'closed']);
  });

  it('opens again with one fault', () => {
    const { breaker, call, transitions } = setUpHalfOpen();
    expect([false, false, true, false].map(call)).toEqual(['probe', 'probe', 'probe', 'refuse']);
    expect(breaker.current()).toMatchObject({ kind: 'open', reason: 'A probe failed', openings: 2 });
    expect(transitions.map(({ to }) => to)).toEqual(['open', 'half_open', 'open']);
  });

  it('frees the place of a probe that comes back without result', () => {
    const { breaker, admitted } = setUpHalfOpen({ probes: 1 });
    const admission = breaker.admit('cancelled');
    expect(admitted()).toBe('refuse');
    if (admission.kind === 'probe') admission.release();
    expect(breaker.current().kind).toBe('half_open');
    expect(admitted()).toBe('probe');
  });

  it('counts a probe once, whether its place is given back after its result or twice', () => {
    const { breaker } = setUpHalfOpen();
    const admission = breaker.admit('probe');
    breaker.record({ executionId: 'probe', fault: false });
    breaker.record({ executionId: 'probe', fault: false });
    if (admission.kind === 'probe') {
      admission.release();
      admission.release();
    }
    expect(breaker.current()).toMatchObject({ successes: 1, slots: new Set() });
  });

  it('takes no result of calls that were admitted before the opening', () => {
    const { breaker, results } = setUpHalfOpen();
    results(10, false);
    results(10, true);
    expect(breaker.current()).toMatchObject({ kind: 'half_open', successes: 0 });
  });

  it('takes no result and no release of a probe of an earlier half-open phase', () => {
    const { breaker, call, clock, admitted } = setUpHalfOpen();
    const stale = breaker.admit('stale');
    call(true);
    clock.time += 60_000;
    expect([admitted(), admitted(), admitted()]).toEqual(['probe', 'probe', 'probe']);
    breaker.record({ executionId: 'stale', fault: true });
    if (stale.kind === 'probe') stale.release();
    expect(breaker.current()).toMatchObject({ kind: 'half_open', successes: 0 });
    expect(admitted()).toBe('refuse');
  });
});

describe('repeated openings', () => {
  it('last twice as long each time, up to the longest', () => {
    const { breaker, call, clock } = setUpHalfOpen();
    for (const ms of [60_000, 120_000, 240_000, 300_000, 300_000]) {
      call(true);
      expect(breaker.current()).toMatchObject({ kind: 'open', until: clock.time + ms });
      clock.time += ms;
    }
  });

  it('are up to a fifth shorter by chance, the first is not', () => {
    const { breaker, call, clock, jitter, results } = setUp();
    jitter(1);
    results(5, true);
    expect(breaker.current()).toMatchObject({ until: clock.time + 30_000 });
    clock.time += 30_000;
    call(true);
    expect(breaker.current()).toMatchObject({ until: clock.time + 48_000 });
    clock.time += 48_000;
    jitter(0.5);
    call(true);
    expect(breaker.current()).toMatchObject({ until: clock.time + 108_000 });
  });

  it('are those within a window after the closing; later ones start anew', () => {
    const { breaker, call, clock, results } = setUpHalfOpen();
    const close = () => [call(false), call(false), call(false)];
    close();
    clock.time += 299_999;
    results(5, true);
    expect(breaker.current()).toMatchObject({ openings: 2, until: clock.time + 60_000 });
    clock.time += 60_000;
    close();
    clock.time += 300_000;
    results(5, true);
    expect(breaker.current()).toMatchObject({ openings: 1, until: clock.time + 30_000 });
  });

  it('never last longer than the longest, however many there were', () => {
    const { breaker, call, clock } = setUpHalfOpen();
    for (let i = 0; i < 1_100; i++) {
      call(true);
      clock.time += 300_000;
    }
    call(true);
    expect(breaker.current()).toMatchObject({ until: clock.time + 300_000 });
  });
});

describe('by hand', () => {
  it('an opened circuit stays open until it is closed', () => {
    const { breaker, clock, results, admitted } = setUp();
    hand(breaker, 'open', 'maintenance');
    clock.time += 86_400_000;
    results(10, false);
    expect(breaker.admit('a')).toEqual({
      kind: 'refuse',
      reason: 'maintenance (opened by alice; it stays so until it is closed or reset by hand)',
      retryAfterMs: 300_000,
    });
    hand(breaker, 'closed', 'maintenance is over');
    expect(breaker.current()).toMatchObject({ kind: 'closed', reason: 'maintenance is over' });
    expect(admitted()).toBe('pass');
  });

  it('a closed circuit starts with an empty window, but remembers its openings', () => {
    const { breaker, clock, results } = setUp();
    results(5, true);
    hand(breaker, 'closed', 'fixed');
    expect(breaker.counts()).toEqual({ calls: 0, faults: 0 });
    results(5, true);
    expect(breaker.current()).toMatchObject({ kind: 'open', until: clock.time + 60_000 });
  });

  it('a reset circuit remembers nothing', () => {
    const { breaker, clock, results } = setUp();
    results(5, true);
    breaker.adopt({ to: 'closed', at: clock.time, by: 'alice', reason: 'new version', openings: 0 });
    const reset = { kind: 'closed', since: clock.time, reason: 'new version', by: 'alice', openings: 0 };
    expect(breaker.current()).toEqual(reset);
    results(5, true);
    expect(breaker.current()).toMatchObject({ until: clock.time + 30_000 });
  });

  it('overriding a half-open circuit makes its probes ordinary calls', () => {
    const { breaker } = setUpHalfOpen();
    breaker.admit('probe');
    hand(breaker, 'closed', 'fixed');
    breaker.record({ executionId: 'probe', fault: true });
    expect(breaker.current().kind).toBe('closed');
    expect(breaker.counts()).toEqual({ calls: 1, faults: 1 });
  });
});

describe('restored after a restart', () => {
  const faults = (count: number, at: number) => Array.from({ length: count }, () => ({ at, fault: true }));
  const successes = (count: number, at: number) =>
    Array.from({ length: count }, () => ({ at, fault: false }));

  it('is open when it would have been', () => {
    const { breaker } = setUp();
    breaker.restore({ samples: faults(5, 990_000) });
    expect(breaker.current()).toMatchObject({
      kind: 'open',
      since: 990_000,
      until: 1_020_000,
      reason: '5 of 5 calls in the last 300 s were tool faults (before the restart)',
    });
  });

  it('is half-open when its opening has passed meanwhile', () => {
    const { breaker } = setUp();
    breaker.restore({ samples: faults(5, 960_000) });
    expect(breaker.current()).toMatchObject({ kind: 'half_open', since: 990_000 });
  });

  it('is closed, with its counts, when too few failed', () => {
    const { breaker } = setUp();
    breaker.restore({ samples: [...faults(4, 960_000), ...successes(1, 970_000)] });
    expect(breaker.current().kind).toBe('closed');
    expect(breaker.counts()).toEqual({ calls: 5, faults: 4 });
  });

  it('is closed where no fault had opened it, although what spoke for the tool has left the window meanwhile', () => {
    const { breaker } = setUp();
    breaker.restore({ samples: [...successes(6, 690_000), ...faults(5, 980_000)] });
    expect(breaker.counts()).toEqual({ calls: 5, faults: 5 });
    expect(breaker.current().kind).toBe('closed');
  });

  it('is closed when enough calls have succeeded since, in whatever order they come', () => {
    const { breaker } = setUp();
    breaker.restore({ samples: [...successes(3, 970_000), ...faults(5, 960_000)] });
    expect(breaker.current().kind).toBe('closed');
  });

  const last = (to: CircuitKind, at: number, openings = 1) => ({ to, at, openings, reason: `${to} before` });
  const past = (changes: Partial<CircuitPast>): CircuitPast => ({ samples: faults(5, 990_000), ...changes });

  it('is closed when it was closed after those faults', () => {
    const { breaker } = setUp();
    breaker.restore(past({ last: last('closed', 990_000), closedAt: 990_000 }));
    expect(breaker.current().kind).toBe('closed');
    expect(breaker.counts()).toEqual({ calls: 0, faults: 0 });
  });

  it('is open when it failed again after its closing', () => {
    const { breaker } = setUp();
    breaker.restore(past({ last: last('closed', 989_999), closedAt: 989_999 }));
    expect(breaker.current().kind).toBe('open');
  });

  it('is held open when somebody opened it by hand, whatever the samples say', () => {
    const { breaker, clock, transitions } = setUp();
    const held = { at: 500, by: 'alice', reason: 'maintenance' };
    breaker.restore({ samples: successes(50, 990_000), last: last('open', 500, 0), held });
    clock.time += 86_400_000;
    const open = { kind: 'open', since: 500, reason: 'maintenance', by: 'alice', until: null, openings: 0 };
    expect(breaker.current()).toEqual(open);
    expect(transitions).toEqual([]);
  });

  it.each([
    ['open', 995_000, { kind: 'open', since: 995_000, until: 1_025_000 }],
    ['open, and its time to probe has come', 900_000, { kind: 'half_open', since: 930_000 }],
    ['open long ago', 1_000, { kind: 'half_open', since: 31_000 }],
    ['half-open', 990_000, { kind: 'half_open', since: 990_000 }],
  ])('is not closed when it was %s, whatever the samples say', (was, at, now) => {
    for (const samples of [[], faults(1, at), [...faults(1, at), ...successes(3, 999_000)]]) {
      const { breaker, transitions } = setUp();
      breaker.restore({
        samples,
        last: last(was === 'half-open' ? 'half_open' : 'open', at),
        openSince: 500,
      });
      expect(transitions).toEqual([]);
      expect(breaker.openSince()).toBe(500);
      const reason = `${was === 'half-open' ? 'half_open' : 'open'} before`;
      expect(breaker.current()).toMatchObject({ ...now, reason, openings: 1 });
      expect(breaker.openSince()).toBe(500);
    }
  });

  it('closes by its probes', () => {
    const { breaker, transitions } = setUp();
    breaker.restore({ samples: [], last: last('half_open', 990_000), openSince: 500 });
    for (const executionId of ['1', '2', '3']) {
      expect(breaker.admit(executionId).kind).toBe('probe');
      breaker.record({ executionId, fault: false });
    }
    expect(transitions.map(({ to }) => to)).toEqual(['half_open', 'closed']);
    expect(breaker.openSince()).toBeNull();
  });

  it.each([
    ['it was open: that opening is one of them', last('open', 990_000, 3), undefined, 120_000],
    ['it was closed a moment before: one more', last('closed', 989_000, 3), 989_000, 240_000],
    ['it had been closed for a window: the first again', last('closed', 690_000, 3), 690_000, 30_000],
  ])('waits as long as its openings in a row make it, when %s', (_, change, closedAt, openMs) => {
    const { breaker } = setUp();
    breaker.restore(past({ last: change, ...(closedAt && { closedAt }) }));
    expect(breaker.current()).toMatchObject({ kind: 'open', since: 990_000, until: 990_000 + openMs });
  });

  it('goes on counting openings that were before the restart', () => {
    const { breaker, results, clock } = setUp();
    breaker.restore({ samples: [], last: last('closed', 900_000, 2), closedAt: 900_000 });
    expect(breaker.current()).toMatchObject({ kind: 'closed', since: 900_000, openings: 2 });
    clock.time += 10_000;
    results(5, true);
    expect(breaker.current()).toMatchObject({ kind: 'open', openings: 3, until: 1_010_000 + 120_000 });
  });

  it('tells with each change how many openings there were in a row', () => {
    const { breaker, transitions } = setUp();
    breaker.restore({ samples: [], last: last('half_open', 990_000, 2) });
    breaker.admit('probe');
    breaker.record({ executionId: 'probe', fault: true });
    expect(transitions.map(({ to, openings }) => [to, openings])).toEqual([
      ['half_open', 2],
      ['open', 3],
    ]);
  });

  it('is closed without any history', () => {
    const { breaker } = setUp();
    breaker.restore({ samples: [] });
    expect(breaker.current().kind).toBe('closed');
  });

  it('stays as it is when it was opened by hand meanwhile', () => {
    const { breaker } = setUp();
    hand(breaker, 'open', 'maintenance');
    breaker.restore({ samples: faults(5, 990_000) });
    expect(breaker.current()).toMatchObject({ kind: 'open', reason: 'maintenance' });
  });
});

describe('adjusted', () => {
  it('counts by the new number of faults, with what the window holds', () => {
    const { breaker, results } = setUp();
    results(4, true);
    breaker.adjust({ ...settings, failures: 10 });
    results(5, true);
    expect(breaker.current().kind).toBe('closed');
    results(1, true);
    expect(breaker.current().kind).toBe('open');
  });

  it('keeps what fits in the new window', () => {
    const { breaker, clock, results } = setUp();
    results(2, true);
    clock.time += 120_000;
    results(1, true);
    breaker.adjust({ ...settings, windowMs: 600_000 });
    expect(breaker.counts()).toEqual({ calls: 3, faults: 3 });
    breaker.adjust({ ...settings, windowMs: 60_000 });
    expect(breaker.counts()).toEqual({ calls: 1, faults: 1 });
  });

  it('stays in its state', () => {
    const { breaker } = setUpHalfOpen();
    breaker.adjust({ ...settings, failures: 50, windowMs: 1_000 });
    expect(breaker.current().kind).toBe('half_open');
  });
});

it('needs nobody to listen', () => {
  const breaker = new CircuitBreaker(settings, { now: () => 0 }, Math.random);
  hand(breaker, 'open', 'maintenance');
  expect(breaker.current().kind).toBe('open');
});
