import { DeadlineWatch } from './deadline-watch.js';
import type { PoolMembers, RunningRequest } from './pool-members.js';

class Request implements RunningRequest {
  readonly at: number;
  gaveUp: string[] = [];

  constructor(ms: number) {
    this.at = Date.now() + ms;
  }

  remainingMs(): number {
    return Math.max(0, this.at - Date.now());
  }

  giveUp(reason: string): void {
    this.gaveUp.push(reason);
  }
}

describe('DeadlineWatch', () => {
  let open: Request[];
  let watch: DeadlineWatch;

  beforeEach(() => {
    jest.useFakeTimers();
    open = [];
    const members = { running: () => open.filter(({ gaveUp }) => gaveUp.length === 0) };
    watch = new DeadlineWatch(members as unknown as PoolMembers);
  });
  afterEach(() => {
    watch.stop();
    jest.useRealTimers();
  });

  const begin = (ms: number) => {
    const request = new Request(ms);
    open.push(request);
    watch.watch(request.remainingMs());
    return request;
  };

  it('gives each request up at its own deadline, in whatever order they came', () => {
    const [late, soon, later] = [begin(200), begin(50), begin(300)];
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(49);
    expect(soon.gaveUp).toEqual([]);
    jest.advanceTimersByTime(1);
    expect([soon.gaveUp, late.gaveUp]).toEqual([['timeout'], []]);
    jest.advanceTimersByTime(150);
    expect([late.gaveUp, later.gaveUp]).toEqual([['timeout'], []]);
    jest.advanceTimersByTime(100);
    expect(later.gaveUp).toEqual(['timeout']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('needs no new timer for requests that end in time', () => {
    begin(100);
    open.length = 0;
    for (let n = 0; n < 50; n++) begin(1_000);
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(100);
    expect(jest.getTimerCount()).toBe(1);
    expect(open.every(({ gaveUp }) => gaveUp.length === 0)).toBe(true);
  });

  it('keeps deadlines that are further away than a timer can be', () => {
    const far = begin(3_000_000_000);
    jest.advanceTimersByTime(2_999_999_999);
    expect(far.gaveUp).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(far.gaveUp).toEqual(['timeout']);
  });
});
