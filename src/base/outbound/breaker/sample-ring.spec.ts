import fc from 'fast-check';
import { SampleRing } from './sample-ring.js';

describe('SampleRing', () => {
  it('counts calls and faults', () => {
    const ring = new SampleRing(600);
    ring.add(0, true);
    ring.add(5, false);
    ring.add(250, true);
    expect(ring.totals(300)).toEqual({ calls: 3, faults: 2 });
  });

  it('forgets bucket by bucket what leaves the window', () => {
    const ring = new SampleRing(600);
    ring.add(5, true);
    ring.add(15, false);
    expect(ring.totals(599)).toEqual({ calls: 2, faults: 1 });
    expect(ring.totals(600)).toEqual({ calls: 1, faults: 0 });
    expect(ring.totals(610)).toEqual({ calls: 0, faults: 0 });
  });

  it('takes late samples of the window and ignores older ones', () => {
    const ring = new SampleRing(600);
    ring.add(1_000, false);
    ring.add(500, true);
    ring.add(300, true);
    expect(ring.totals(1_000)).toEqual({ calls: 2, faults: 1 });
  });

  it('is not moved by a clock that steps back', () => {
    const ring = new SampleRing(600);
    ring.add(1_000, true);
    expect(ring.totals(100)).toEqual({ calls: 1, faults: 1 });
  });

  it('is empty after clear', () => {
    const ring = new SampleRing(600);
    ring.add(10, true);
    ring.clear();
    expect(ring.totals(10)).toEqual({ calls: 0, faults: 0 });
  });

  it('forgets everything after a long silence, and goes on', () => {
    const ring = new SampleRing(600);
    for (let at = 0; at < 600; at += 10) ring.add(at, true);
    expect(ring.totals(599)).toEqual({ calls: 60, faults: 60 });
    ring.add(1_000_000_007, false);
    expect(ring.totals(1_000_000_007)).toEqual({ calls: 1, faults: 0 });
  });

  it('takes what it holds into another window', () => {
    const ring = new SampleRing(600);
    ring.add(1_000, true);
    ring.add(1_000, false);
    ring.add(1_300, true);
    expect(ring.resized(1_200).totals(1_300)).toEqual({ calls: 3, faults: 2 });
    expect(ring.resized(120).totals(1_300)).toEqual({ calls: 1, faults: 1 });
    expect(new SampleRing(600).resized(60).totals(0)).toEqual({ calls: 0, faults: 0 });
  });

  it('equals a list of samples cut by bucket', () => {
    const sample = fc.record({ wait: fc.integer({ min: 0, max: 400 }), fault: fc.boolean() });
    fc.assert(
      fc.property(fc.array(sample), (samples) => {
        const ring = new SampleRing(600);
        const all: { at: number; fault: boolean }[] = [];
        let now = 0;
        for (const { wait, fault } of samples) {
          now += wait;
          ring.add(now, fault);
          all.push({ at: now, fault });
          const kept = all.filter(({ at }) => Math.floor(at / 10) > Math.floor(now / 10) - 60);
          expect(ring.totals(now)).toEqual({
            calls: kept.length,
            faults: kept.filter((one) => one.fault).length,
          });
        }
      }),
    );
  });
});
