import { StatusLog } from './status-log.js';

describe('StatusLog', () => {
  it('says since when a tool has its status, and from what it changed', () => {
    const log = new StatusLog();
    expect(log.note('search', 'healthy', 10)).toEqual({ since: 10, changedFrom: 'unknown' });
    expect(log.note('search', 'healthy', 20)).toEqual({ since: 10 });
    expect(log.note('search', 'degraded', 30)).toEqual({ since: 30, changedFrom: 'healthy' });
    expect(log.note('search', 'degraded', 40)).toEqual({ since: 30 });
    expect(log.note('search', 'unknown', 50)).toEqual({ since: 50, changedFrom: 'degraded' });
  });

  it('knows nothing of a tool that had no grade', () => {
    const log = new StatusLog();
    expect(log.note('search', 'unknown', 10)).toEqual({ since: null });
    expect(log.note('search', 'unhealthy', 20, 5)).toEqual({ since: 5, changedFrom: 'unknown' });
    expect(log.note('search', 'healthy', 30, 5)).toEqual({ since: 30, changedFrom: 'unhealthy' });
  });

  it('does not grow without bound', () => {
    const log = new StatusLog();
    log.note('first', 'healthy', 10);
    for (let n = 0; n < 20_000; n++) log.note(`tool-${n}`, 'healthy', 20);
    expect(log.note('first', 'healthy', 30)).toEqual({ since: 30, changedFrom: 'unknown' });
  });
});
