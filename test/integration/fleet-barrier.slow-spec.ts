import { Logger } from '@nestjs/common';
import { DatabaseHealth } from '../../src/base/database/database-health.js';
import { FleetBarrier } from '../../src/base/database/fleet-barrier.js';
import type { Replicas } from '../../src/base/database/replicas.js';
import { TableFollower } from '../../src/base/database/table-follower.js';
import { createTestDatabase } from '../support/database.js';
import { until } from '../support/wait.js';

// real: PostgreSQL, its notifications; mock: no other replica

Logger.overrideLogger(false);

it('lets an act pass whose change cannot be read, and the process goes on', async () => {
  const db = await createTestDatabase();
  const session = new DatabaseHealth(db.url, 2_000, () => undefined);
  void session.start();
  const follower = new TableFollower(session);
  const barrier = new FleetBarrier(session, follower, { id: 'self', others: [] } as unknown as Replicas);
  const unhandled = jest.fn();
  process.on('unhandledRejection', unhandled);
  let looks = 0;
  follower.follow({ table: 'custom_tools', what: 'tools' }, () => {
    looks++;
    return Promise.reject(new Error('the server does not answer'));
  });
  await until(() => session.listens && looks > 0, { what: 'a look that failed' });
  const before = looks;
  expect(await barrier.pass()).toEqual([]);
  expect(looks).toBeGreaterThan(before);
  expect(unhandled).not.toHaveBeenCalled();
  process.off('unhandledRejection', unhandled);
  await follower.beforeApplicationShutdown();
  await session.stop();
  await db.release();
});
