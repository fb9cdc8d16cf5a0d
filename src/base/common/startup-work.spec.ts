import { Logger } from '@nestjs/common';
import { StartupWork } from './startup-work.js';

describe('StartupWork', () => {
  beforeAll(() => Logger.overrideLogger(false));

  it('is settled when there is none', async () => {
    const work = new StartupWork();
    expect(work.isSettled()).toBe(true);
    await work.settled();
    expect(work.view()).toEqual({});
  });

  it('waits for every part, also for one that fails and one that a part registers', async () => {
    const work = new StartupWork();
    const first = Promise.withResolvers<void>();
    const later = Promise.withResolvers<void>();
    work.register(
      'import',
      first.promise.then(() => work.register('spawn', later.promise)),
    );
    work.register('broken', Promise.reject(new Error('no interpreter')));
    const settled = work.settled();
    expect(work.isSettled()).toBe(false);
    first.resolve();
    await first.promise;
    later.resolve();
    await settled;
    expect(work.isSettled()).toBe(true);
    expect(work.view()).toEqual({ import: 'done', spawn: 'done', broken: 'failed' });
  });

  it('shows what still runs', () => {
    const work = new StartupWork();
    work.register('spawn', new Promise(() => undefined));
    expect(work.view()).toEqual({ spawn: 'running' });
  });
});
