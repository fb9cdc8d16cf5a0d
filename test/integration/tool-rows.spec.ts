import { randomUUID } from 'node:crypto';
import { DatabaseHealth } from '../../src/base/database/database-health.js';
import { CustomTool, CustomToolImport } from '../../src/runtime/custom-tools/entity/custom-tool.entity.js';
import { CustomToolsRepository } from '../../src/runtime/custom-tools/state/custom-tools.repository.js';
import type { ToolStates } from '../../src/runtime/custom-tools/state/tool-states.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { until } from '../support/wait.js';

// real: PostgreSQL, the repository; mock: states of tools, of which none differs from its row

let db: TestDatabase;
let repository: CustomToolsRepository;
/** Names of the rows that each reading has brought. */
const read: string[][] = [];

beforeEach(async () => {
  db = await createTestDatabase({ entities: [CustomTool, CustomToolImport] });
  const tools = db.dataSource.getRepository(CustomTool);
  const states = { applyTo: (row: object) => row } as unknown as ToolStates;
  const database = new DatabaseHealth(db.url, 1_000, () => undefined);
  repository = new CustomToolsRepository(
    tools,
    db.dataSource.getRepository(CustomToolImport),
    states,
    database,
  );
  const query = tools.query.bind(tools);
  jest.spyOn(tools, 'query').mockImplementation(async (sql, values) => {
    const rows: { changed: { name: string }[] }[] = await query(sql, values);
    read.push((rows[0]?.changed ?? []).map(({ name }) => name).sort());
    return rows;
  });
  for (const name of ['a', 'b', 'c']) await insert(name);
  await untilNothingIsNew();
});
afterEach(() => db.release());

/** Rows are read again while a transaction is open that is older than they are, as those of other tests may be. */
const untilNothingIsNew = (): Promise<boolean> =>
  until(
    async () => {
      await repository.readChanges();
      return read.splice(0)[0]?.length === 0;
    },
    { what: 'a reading without changes' },
  );
const sql = (text: string): Promise<unknown> => db.dataSource.query(text);
const insert = (name: string): Promise<unknown> =>
  sql(`INSERT INTO custom_tools (id, name, description, version, command, input_schema, status)
       VALUES ('${randomUUID()}', '${name}', '', '1', 'node', '{}', 'active')`);
const known = (): string[] => [...repository.names()].sort();

it.each<[string, () => Promise<unknown>, string[], string[]]>([
  ['nothing', async () => undefined, [], ['a', 'b', 'c']],
  [
    'a change',
    () => sql(`UPDATE custom_tools SET status = 'inactive' WHERE name = 'b'`),
    ['b'],
    ['a', 'b', 'c'],
  ],
  ['a registration', () => insert('d'), ['d'], ['a', 'b', 'c', 'd']],
  ['a removal', () => sql(`DELETE FROM custom_tools WHERE name = 'b'`), [], ['a', 'c']],
  [
    'one for another',
    async () => Promise.all([sql(`DELETE FROM custom_tools WHERE name = 'b'`), insert('d')]),
    ['d'],
    ['a', 'c', 'd'],
  ],
  [
    'one under the same name',
    async () => sql(`DELETE FROM custom_tools WHERE name = 'b'`).then(() => insert('b')),
    ['b'],
    ['a', 'b', 'c'],
  ],
])('reads what changed, and then nothing: %s', async (_what, change, rows, names) => {
  await change();
  await repository.readChanges();
  expect({ rows: read[0], names: known() }).toEqual({ rows: expect.arrayContaining(rows), names });
  read.length = 0;
  await untilNothingIsNew();
  expect(known()).toEqual(names);
});

it('reads a change whose transaction began before the last reading and was committed after it', async () => {
  const late = db.dataSource.createQueryRunner();
  await late.startTransaction();
  await late.query(`UPDATE custom_tools SET status = 'inactive' WHERE name = 'a'`);
  await sql(`UPDATE custom_tools SET status = 'inactive' WHERE name = 'b'`);
  await repository.readChanges();
  await late.commitTransaction();
  await late.release();
  await repository.readChanges();
  expect(['a', 'b', 'c'].map((name) => repository.row(name)?.status)).toEqual([
    'inactive',
    'inactive',
    'active',
  ]);
  expect(read[1]).toContain('a');
});
