import { Logger } from '@nestjs/common';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DataSource, type MigrationInterface } from 'typeorm';
import { AssistantParts1764000400000 } from '../../migrations/0040-assistant-parts.js';
import { migrations } from '../../migrations/index.js';
import { migrate } from '../../src/base/database/migrate.js';
import { startApp } from '../support/app.js';
import { CommandLine, ok } from '../support/command-line.js';
import { createEmptyDatabase } from '../support/database.js';
import type { Json } from '../support/json.js';
import { makeTestFolder } from '../support/test-folder.js';
import { query } from '../support/test-server.js';

// real: a database as a server with the migrations before the first ones of the wings wrote it, servers that start on it, its
// tool's process, a backup of it; mock: nothing

const dump = readFileSync(join(__dirname, '..', 'fixtures', 'upgrade', 'at-0038.sql'), 'utf8');
const key = 'tk_01a21fd820c45f33e3a4_QYf-U65TwQOunuFs7JfzO0Mpe0GD47yXaUfQoyAJffI';
const names = migrations.map(({ name }) => name);

const folder = makeTestFolder();
let db: { readonly url: string; drop(): Promise<void> };
beforeAll(() => Logger.overrideLogger(false));
beforeEach(async () => {
  db = await createEmptyDatabase();
  await query(db.url, dump);
  // Budgets end after a day.
  await query(db.url, `UPDATE call_counters SET resets_at = now() + interval '1 day', used_at = now()`);
});
afterEach(() => db.drop());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const namesIn = async (): Promise<unknown[]> =>
  (await query(db.url, 'SELECT name FROM migrations ORDER BY id')).map(({ name }) => name);

/** Applies a migration as the version before did. */
async function apply(migration: new () => MigrationInterface): Promise<void> {
  const dataSource = new DataSource({
    type: 'postgres',
    url: db.url,
    migrations: [migration],
    installExtensions: false,
  });
  await dataSource.initialize();
  await dataSource.runMigrations();
  await dataSource.destroy();
}

/** Tables with their columns in order, indexes, constraints, triggers, views and functions; not the partitions of days. */
const schemaOf = (url: string): Promise<unknown[]> =>
  query(
    url,
    `WITH ours AS (SELECT oid, relname, relkind, reloptions FROM pg_class
       WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'S') AND relname !~ '_\\d{8}$')
     SELECT concat_ws(' ', relname, relkind, reloptions, attnum, attname, format_type(atttypid, atttypmod), attnotnull,
         attidentity, attstorage, pg_get_expr(adbin, adrelid)) AS part
       FROM ours JOIN pg_attribute ON attrelid = ours.oid AND attnum > 0 LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
     UNION ALL SELECT pg_get_viewdef(oid) FROM ours WHERE relkind = 'v'
     UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN ours ON indrelid = ours.oid
     UNION ALL SELECT concat_ws(' ', relname, conname, pg_get_constraintdef(c.oid)) FROM pg_constraint c JOIN ours ON conrelid = ours.oid
     UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN ours ON tgrelid = ours.oid WHERE NOT tgisinternal
     UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
     ORDER BY 1`,
  );

const first = names.indexOf('AssistantParts1764000400000');
const versions = [
  { last: '0038', added: names.slice(first), before: [] },
  { last: '0040', added: names.slice(first + 1), before: [AssistantParts1764000400000] },
];

describe.each(versions)('a database whose last migration is $last', ({ added, before }) => {
  beforeEach(async () => {
    for (const migration of before) await apply(migration);
  });

  it('gets nothing that it has, from replicas that start at once, and is as a new one', async () => {
    const old = await namesIn();
    const applied = await Promise.all([1, 2, 3].map(() => migrate(db.url, migrations)));
    expect(applied.flat()).toEqual(added);
    expect((await namesIn()).toSorted()).toEqual([...new Set([...old, ...names])].toSorted());
    const fresh = await createEmptyDatabase();
    try {
      await migrate(fresh.url, migrations);
      expect(await schemaOf(db.url)).toEqual(await schemaOf(fresh.url));
    } finally {
      await fresh.drop();
    }
  });

  it('has all that was in it when a server starts, and so has a backup', async () => {
    const tk = await startApp({
      DATABASE_URL: db.url,
      CUSTOM_TOOLS_DIR: join(folder, 'tools'),
      SECRETS_KEY: 'ab'.repeat(32),
      METRICS_RETENTION_DAYS: '3650',
      SPANS_RETENTION_DAYS: '3650',
      TOOLKEEPER_DATA_DIR: join(folder, 'data'),
    });
    const get = async (path: string): Promise<Json> =>
      (await tk.http.get(`/api/v1/${path}`).expect(200)).body;
    try {
      expect(await get('tool-health/token/circuit')).toMatchObject({ state: 'open', heldByHand: true });
      await tk.http.post('/api/v1/tool-health/token/circuit/close').send({}).expect(200);
      const context = { investigationId: 'inc-1' };
      const { body } = await tk.anonymous
        .post('/api/v1/tools/token/execute')
        .set('authorization', `Bearer ${key}`)
        .send({ input: {}, context })
        .expect(200);
      // The length of its secret.
      expect(body).toMatchObject({ status: 'success', result: { length: 13 } });
      const { tools, callsPerTool } = await get('investigations/inc-1');
      expect([callsPerTool, tools]).toEqual([7, [expect.objectContaining({ tool: 'token', used: 4 })]]);
      expect((await get('tool-metrics/executions?until=2026-11-28T01:50:00Z')).data).toHaveLength(4);
      expect((await get('spans?trace_ids=7bba9f33312b3dbb8b2c2c62bb7abe2d')).data).toHaveLength(1);
      expect((await get('custom-tools/token/revisions')).data).toHaveLength(2);
      expect((await get('audit?target=token')).data.length).toBeGreaterThanOrEqual(3);
      expect((await get('experiments')).data).toMatchObject([{ name: 'A cheaper model' }]);
      expect((await get('playbooks')).data).toMatchObject([{ playbook_id: 'shed-load' }]);

      const file = join(folder, `${before.length}.tgz`);
      const cli = (data: string, url: string): CommandLine =>
        new CommandLine({ TOOLKEEPER_DATA_DIR: join(folder, data), DATABASE_URL: url }, folder);
      await ok(cli('data', db.url).run('backup', file));
      const copy = await createEmptyDatabase();
      try {
        await ok(cli(`copy-${before.length}`, copy.url).run('restore', file));
        const rows = await query(copy.url, 'SELECT count(*)::int AS count FROM custom_tool_revisions');
        expect(rows).toEqual([{ count: 2 }]);
      } finally {
        await copy.drop();
      }
    } finally {
      await tk.close();
    }
  });
});

it('a database with some of the migrations before 0038 is refused, and stays as it is', async () => {
  await query(db.url, `DELETE FROM migrations WHERE name = 'BegunCalls1764000380000'`);
  const old = await namesIn();
  await expect(migrate(db.url, migrations)).rejects.toThrow(
    /last migration is KeptBudgets1764000370000: set/,
  );
  expect(await namesIn()).toEqual(old);
});
