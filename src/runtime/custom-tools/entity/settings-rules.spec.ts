import { checkedThresholds } from './settings-rules.js';

const wrongField = (pointer: string) =>
  expect.objectContaining({
    details: expect.objectContaining({ errors: [expect.objectContaining({ pointer })] }),
  });

describe('checkedThresholds', () => {
  it('keeps what was given, and nothing else', () => {
    expect(checkedThresholds({ minCalls: 1, slowCallMs: undefined })).toEqual({ minCalls: 1 });
    expect(Object.keys(checkedThresholds({ minCalls: 1, slowCallMs: undefined }) ?? {})).toEqual([
      'minCalls',
    ]);
  });

  it.each([[null], [undefined], [{}], [{ minCalls: undefined }]])('is null for %j', (given) => {
    expect(checkedThresholds(given)).toBeNull();
  });

  it('allows equal limits', () => {
    const own = { successRateHealthy: 0.9, successRateDegraded: 0.9, latencyHealthyMs: 5000 };
    expect(checkedThresholds(own)).toEqual(own);
  });

  it.each([
    ['its own', { successRateHealthy: 0.7, successRateDegraded: 0.71 }, '/thresholds/successRateDegraded'],
    ['the default', { successRateHealthy: 0.7 }, '/thresholds/successRateDegraded'],
    ['its own', { latencyHealthyMs: 100, latencyDegradedMs: 99 }, '/thresholds/latencyDegradedMs'],
    ['the default', { latencyHealthyMs: 5001 }, '/thresholds/latencyDegradedMs'],
  ])('refuses a limit that contradicts %s other one: %j', (_which, given, pointer) => {
    expect(() => checkedThresholds(given)).toThrow(wrongField(pointer));
  });
});
