import { Logger } from '@nestjs/common';
import { CatalogueFollower } from '../../src/agents/playbook-search/catalogue/playbook-index.js';
import { DatabaseHealth } from '../../src/base/database/database-health.js';
import { TableFollower } from '../../src/base/database/table-follower.js';
import { PlaybooksRepository } from '../../src/agents/playbooks/playbooks.repository.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { catalogueOn } from '../support/playbooks.js';
import { until } from '../support/wait.js';

Logger.overrideLogger(false);

const playbook = (version: string) => ({
  playbook_id: 'billing-restart',
  version,
  name: 'Restart the billing worker',
  description: 'The billing worker hangs on its queue. Restarts it.',
  content: {},
  signals: ['BillingQueueStalled'],
});

let db: TestDatabase;
const stops: (() => Promise<void>)[] = [];

beforeEach(async () => {
  db = await createTestDatabase();
});
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
  await db.release();
});

/** Another server on the same database. @param listens false: its connection never gets a notification */
function replica({ listens = true } = {}) {
  const repository = new PlaybooksRepository(db.dataSource);
  const { catalogue, index } = catalogueOn(db.dataSource);
  const session = new DatabaseHealth(db.url, 2_000, () => undefined);
  const started = listens ? session.start() : undefined;
  const follower = new TableFollower(session);
  stops.push(async () => {
    // A start that ends after the stop would connect for ever.
    await started;
    await follower.beforeApplicationShutdown();
    await session.stop();
  });
  new CatalogueFollower(follower, repository, index, catalogue).onApplicationBootstrap();
  const found = async (): Promise<string[]> => {
    const { answer } = await index.find({
      query: 'BillingQueueStalled',
      labels: {},
      similarityThreshold: 0.7,
      limit: 5,
    });
    return answer.playbooks.map(({ version }) => version);
  };
  const finds = (...versions: string[]) =>
    until(async () => (await found()).join() === versions.join(), { what: `${versions.join()} to be found` });
  return { index, found, finds };
}

const isListening = () =>
  until(async () => (await listeners()).length === 1, { what: 'the replica to listen' });
const listeners = async (): Promise<number[]> => {
  const rows: { pid: number }[] = await db.dataSource.query(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'toolkeeper-listener'`,
  );
  return rows.map(({ pid }) => pid);
};
const disable = () =>
  db.dataSource.query(`UPDATE playbook_catalog SET status = 'disabled', disabled_at = now()`);

describe('what another replica changes', () => {
  it('is heard of at once, whoever changed it', async () => {
    const other = replica();
    await isListening();
    const { catalogue } = catalogueOn(db.dataSource);
    await catalogue.create(playbook('1.0.0'));
    await other.finds('1.0.0');
    await catalogue.create(playbook('2.0.0'));
    await other.finds('2.0.0');
    const before = other.index.revision;
    await disable();
    await other.finds();
    expect(other.index.revision).not.toBe(before);
  });

  it('is seen also without notifications', async () => {
    const other = replica({ listens: false });
    await catalogueOn(db.dataSource).catalogue.create(playbook('1.0.0'));
    await other.finds('1.0.0');
    await disable();
    await other.finds();
  });

  it('is seen after the connection was lost', async () => {
    const other = replica();
    await isListening();
    const [first] = await listeners();
    await db.dataSource.query('SELECT pg_terminate_backend($1)', [first]);
    await catalogueOn(db.dataSource).catalogue.create(playbook('1.0.0'));
    await other.finds('1.0.0');
    await until(async () => (await listeners()).some((pid) => pid !== first), { what: 'a new connection' });
  });

  it('does not make it read again what it knows, nor after statistics', async () => {
    const { catalogue } = catalogueOn(db.dataSource);
    await catalogue.create(playbook('1.0.0'));
    const other = replica();
    await other.finds('1.0.0');
    const before = other.index.revision;
    await catalogue.recordOutcome(
      { id: 'billing-restart', version: '1.0.0' },
      { success: true, executionId: undefined },
    );
    const reads: { calls: string }[] = await db.dataSource.query(
      'SELECT revision AS calls FROM playbook_catalog_state',
    );
    await other.found();
    expect(other.index.revision).toBe(before);
    expect(reads).toHaveLength(1);
  });
});

describe('the revision', () => {
  const revision = () => new PlaybooksRepository(db.dataSource).revision();

  it('grows with each change that search can see, and with no other', async () => {
    const { catalogue } = catalogueOn(db.dataSource);
    const key = { id: 'billing-restart', version: '1.0.0' };
    const seen = [await revision()];
    const changes: (() => Promise<unknown>)[] = [
      () => catalogue.create(playbook('1.0.0')),
      () => catalogue.setStatus(key, { transition: 'disable', by: 'd', reason: 'r' }),
      () => catalogue.setStatus(key, { transition: 'enable', by: 'd', reason: undefined }),
      () => db.dataSource.query(`UPDATE playbook_catalog SET labels = '{"environment": "test"}'`),
      () => db.dataSource.query('DELETE FROM playbook_catalog'),
    ];
    for (const change of changes) {
      await change();
      seen.push(await revision());
    }
    expect(new Set(seen).size).toBe(seen.length);
    await catalogue.create(playbook('1.0.0'));
    const before = await revision();
    await catalogue.recordOutcome(key, { success: true, executionId: 'e' });
    await catalogue.create(playbook('0.9.0')).catch(() => undefined);
    await catalogue
      .setStatus(key, { transition: 'enable', by: 'd', reason: undefined })
      .catch(() => undefined);
    expect(await revision()).toBe(before);
  });
});
