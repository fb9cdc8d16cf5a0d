import { StatusLog } from './status-log.js';

describe('StatusLog', () => {
  it('tells since when a status was seen, and from what it changed', () => {
    const log = new StatusLog();
    expect(log.note('1', 'search', 'healthy', 10)).toEqual({ since: 10 });
    expect(log.note('1', 'search', 'healthy', 20)).toEqual({ since: 10 });
    expect(log.note('1', 'search', 'degraded', 30)).toEqual({ since: 30, changedFrom: 'healthy' });
    expect(log.note('1', 'search', 'degraded', 40)).toEqual({ since: 30 });
    expect(log.note('1', 'search', 'healthy', 50)).toEqual({ since: 50, changedFrom: 'degraded' });
  });

  it('keeps tools and kinds apart', () => {
    const log = new StatusLog();
    log.note('1', 'search', 'healthy', 10);
    expect(log.note('24', 'search', 'degraded', 20)).toEqual({ since: 20 });
    expect(log.note('1', 'other', 'unknown', 30)).toEqual({ since: 30 });
    expect(log.note('1', 'search', 'healthy', 40)).toEqual({ since: 10 });
  });

  it('does not grow without bound', () => {
    const log = new StatusLog();
    log.note('1', 'first', 'healthy', 10);
    for (let n = 0; n < 20_000; n++) log.note('1', `tool-${n}`, 'healthy', 20);
    expect(log.note('1', 'first', 'healthy', 30)).toEqual({ since: 30 });
  });
});
