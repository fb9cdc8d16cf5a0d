import { startApp, type TestApp } from '../support/app.js';
import { bearer } from '../support/admin-key.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import type { Json } from '../support/json.js';
import { until } from '../support/wait.js';

// real: the whole server, PostgreSQL, HTTP; mock: the database's clock

/** A database whose clock differs from this machine's by as many seconds. */
async function withClock(seconds: number): Promise<TestDatabase> {
  const db = await createTestDatabase();
  const { dataSource } = db;
  for (const name of ['now', 'clock_timestamp'])
    await dataSource.query(
      `CREATE FUNCTION public.${name}() RETURNS timestamptz STABLE LANGUAGE sql
       AS 'SELECT pg_catalog.${name}() + interval ''${seconds} s'''`,
    );
  const [row] = await dataSource.query<{ name: string }[]>('SELECT current_database() AS name');
  await dataSource.query(`ALTER DATABASE ${row?.name} SET search_path = public, pg_catalog`);
  return db;
}

const partOf = async (tk: TestApp, part: string): Promise<Json> => {
  const { body } = await tk.http.get('/readyz').expect(200);
  return body.details[part];
};

describe.each([
  [300, 'behind', 290, false],
  [-300, 'ahead of', 1, true],
])('a replica whose database has a clock that differs by %i s', (seconds, words, lastsSeconds, isGood) => {
  let db: TestDatabase;
  let tk: TestApp;
  beforeAll(async () => {
    db = await withClock(seconds);
    tk = await startApp({ DATABASE_URL: db.url });
  });
  afterAll(async () => {
    await tk.close();
    await db.release();
  });

  it('reports it, and stays ready', async () => {
    const { status, message } = await partOf(tk, 'clock');
    expect(status).toBe('degraded');
    expect(message).toMatch(
      new RegExp(`^this machine's clock is (300|299)\\.\\d s ${words} the database's$`),
    );
  });

  it("ends keys by the database's clock", async () => {
    const expiresAt = new Date(Date.now() + lastsSeconds * 1_000);
    const made = await tk.http
      .post('/api/v1/keys')
      .send({ name: 'k', scopes: ['tools:call'], expiresAt })
      .expect(201);
    expect(made.body.status).toBe(isGood ? 'active' : 'expired');
    // By this machine's clock its time is over.
    await until(() => isGood === Date.now() > expiresAt.getTime(), { what: 'its time' });
    await tk.anonymous
      .get('/api/v1/tools')
      .set(bearer(made.body.key))
      .expect(isGood ? 200 : 401);
  });

  it('reports that its database is full, and when it is not any more', async () => {
    await tk.register('called');
    await db.dataSource.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON tool_metrics FOR EACH ROW EXECUTE FUNCTION refuse()`);
    await tk.call('called').expect(200);
    const recorder = (status: string) =>
      until(async () => (await partOf(tk, 'recorder')).status === status && partOf(tk, 'recorder'), {
        what: status,
      });
    expect((await recorder('degraded')).message).toBe(
      'the database takes no records: its disk is full (SQLSTATE 53100)',
    );
    await db.dataSource.query('DROP TRIGGER refuse ON tool_metrics');
    await recorder('up');
  });
});
