import { RestartPolicy } from './restart-policy.js';

describe('RestartPolicy', () => {
  it('lets starts happen freely while none failed', () => {
    const policy = new RestartPolicy(3);
    expect(policy.mayStart(0, 9)).toBe(true);
    expect(policy.mayStartAhead(0, 9)).toBe(true);
    expect(policy.delayMs(0)).toBe(0);
  });

  it('doubles the pause after each failed start from 0.1 s to 60 s, one start at a time', () => {
    const policy = new RestartPolicy(3);
    const pauses: number[] = [];
    for (let now = 1; pauses.length < 12; now += policy.delayMs(now)) {
      policy.startFailed(now, now, 'no');
      pauses.push(policy.delayMs(now));
      expect(policy.mayStart(now, 0)).toBe(false);
      expect(policy.mayStart(now + policy.delayMs(now), 0)).toBe(true);
      expect(policy.mayStart(now + policy.delayMs(now), 1)).toBe(false);
    }
    expect(pauses).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200, 60000, 60000]);
  });

  it('has failed after so many failed starts in a row, and recovers with a good one', () => {
    const policy = new RestartPolicy(2);
    expect(policy.startFailed(10, 1, 'first')).toBe(true);
    expect(policy.failed).toBe(false);
    expect(policy.startFailed(200, 150, 'second')).toBe(true);
    expect(policy).toMatchObject({ failed: true, failedStarts: 2, error: 'second' });
    policy.started();
    expect(policy).toMatchObject({ failed: false, failedStarts: 0 });
    expect(policy.mayStart(201, 0)).toBe(true);
  });

  it('counts starts that ran side by side as one failure', () => {
    const policy = new RestartPolicy(3);
    expect(policy.startFailed(10, 1, 'a')).toBe(true);
    expect(policy.startFailed(11, 2, 'b')).toBe(false);
    expect(policy).toMatchObject({ failedStarts: 1, error: 'b' });
  });

  it('holds back only starts ahead after processes that died unused, until one answers', () => {
    const policy = new RestartPolicy(3);
    policy.diedUnused(0, 50);
    policy.diedUnused(100, 50);
    expect(policy.delayMs(100)).toBe(200);
    expect(policy.mayStart(100, 3)).toBe(true);
    expect(policy.mayStartAhead(100, 0)).toBe(false);
    policy.answered();
    expect(policy.mayStartAhead(100, 0)).toBe(true);
    expect(policy.delayMs(100)).toBe(0);
  });

  it('begins anew for a process that lived long before it died', () => {
    const policy = new RestartPolicy(3);
    for (let n = 0; n < 5; n++) policy.diedUnused(0, 1);
    policy.diedUnused(0, 10_000);
    expect(policy.delayMs(0)).toBe(100);
  });

  it('keeps its pause after failed starts though older processes still answer', () => {
    const policy = new RestartPolicy(3);
    policy.startFailed(10, 1, 'no');
    policy.answered();
    expect(policy.mayStart(10, 0)).toBe(false);
  });
});
