import fc from 'fast-check';
import { PlaybookUsage } from './playbook-calls.js';

const hour = 3_600_000;

function setUp(maxTracked = 1_000) {
  const clock = { time: 1_000_000_000_000, now: () => clock.time };
  return { clock, usage: new PlaybookUsage(maxTracked, clock) };
}

describe('PlaybookUsage', () => {
  it('knows nothing at first', () => {
    expect(setUp().usage.sample()).toEqual({ callRate: 0, cacheHitRate: 0 });
  });

  it('tells the share of investigations that asked, however often they did', () => {
    const { usage } = setUp();
    for (const id of ['a', 'b', 'c', 'd']) usage.addInvestigation(id, false);
    for (let n = 0; n < 5; n++) usage.addInvestigation('a', true);
    usage.addInvestigation('e', true);
    expect(usage.sample().callRate).toBe(2 / 5);
  });

  it('forgets what is over an hour old', () => {
    const { usage, clock } = setUp();
    usage.addInvestigation('asked', true);
    usage.addInvestigation('other', false);
    usage.addCall();
    usage.addHit();
    clock.time += hour - 1;
    usage.addInvestigation('asked', false);
    expect(usage.sample().callRate).toBe(1 / 2);
    clock.time += 2;
    // It still investigates, but when it asked for playbooks is too long ago.
    expect(usage.sample()).toEqual({ callRate: 0, cacheHitRate: 0 });
    usage.addInvestigation('late', true);
    expect(usage.sample().callRate).toBe(1 / 2);
  });

  it('tells the share of calls that memory answered', () => {
    const { usage } = setUp();
    for (let n = 0; n < 4; n++) usage.addCall();
    usage.addHit();
    expect(usage.sample().cacheHitRate).toBe(0.25);
  });

  it('holds no more investigations than it may, and stays between 0 and 1', () => {
    const step = fc.record({
      id: fc.nat(30),
      asked: fc.boolean(),
      hit: fc.boolean(),
      wait: fc.constantFrom(0, 1, 60_000, hour),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const { usage, clock } = setUp(10);
        for (const { id, asked, hit, wait } of steps) {
          clock.time += wait;
          usage.addInvestigation(`inv-${id}`, asked);
          if (asked) usage.addCall();
          if (asked && hit) usage.addHit();
          for (const share of Object.values(usage.sample())) {
            expect(share).toBeGreaterThanOrEqual(0);
            expect(share).toBeLessThanOrEqual(1);
          }
        }
        const last = steps.at(-1);
        if (last) expect(usage.sample().callRate > 0).toBe(usage.sample().callRate >= 0.1);
      }),
    );
  });
});
