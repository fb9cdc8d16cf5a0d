import { EndpointBreaker } from './endpoint-breaker.js';

describe('EndpointBreaker', () => {
  let now = 0;
  let breaker: EndpointBreaker;
  const fail = (times: number): void => {
    for (let time = 0; time < times; time++) {
      expect(breaker.admit()).toBe(true);
      breaker.failed();
    }
  };

  beforeEach(() => {
    now = 0;
    breaker = new EndpointBreaker({ failures: 3, openMs: 1_000 }, { now: () => now });
  });

  it('opens after failures in a row, not after as many with a success between', () => {
    fail(2);
    breaker.succeeded();
    fail(2);
    expect(breaker.admit()).toBe(true);
    breaker.failed();
    expect(breaker.admit()).toBe(false);
  });

  it('lets one request probe when its time has come', () => {
    fail(3);
    now = 999;
    expect(breaker.admit()).toBe(false);
    now = 1_000;
    expect(breaker.admit()).toBe(true);
    expect(breaker.admit()).toBe(false);
    breaker.succeeded();
    fail(2);
    expect(breaker.admit()).toBe(true);
  });

  it('opens again when the probe fails', () => {
    fail(3);
    now = 1_000;
    fail(1);
    now = 1_999;
    expect(breaker.admit()).toBe(false);
    now = 2_000;
    expect(breaker.admit()).toBe(true);
  });

  it('lets the next one probe when the prober left', () => {
    fail(3);
    now = 1_000;
    expect(breaker.admit()).toBe(true);
    breaker.left();
    expect(breaker.admit()).toBe(true);
  });

  it('counts nobody who left while it was closed', () => {
    fail(2);
    breaker.left();
    expect(breaker.admit()).toBe(true);
  });
});
