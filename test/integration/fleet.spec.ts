import { type Fleet, startFleet } from '../support/fleet.js';
import { until } from '../support/wait.js';

// real: three servers in processes of their own, PostgreSQL, HTTP, tools; mock: nothing

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet(3);
});
afterAll(() => fleet.stop());

const rows = <Row>(sql: string, values: unknown[] = []): Promise<Row[]> =>
  fleet.db.dataSource.query(sql, values);

describe('a fleet', () => {
  it('knows its replicas, and listens on one connection for each', async () => {
    await until(async () => (await rows(`SELECT 1 FROM replicas WHERE address IS NOT NULL`)).length === 3, {
      what: 'three replicas',
    });
    const found = await rows<{ address: string }>(
      `SELECT address FROM replicas WHERE seen_at > now() - interval '15 s' AND parts->'server' IS NULL`,
    );
    expect(found.map(({ address }) => address).sort()).toEqual(fleet.replicas.map(({ url }) => url).sort());
    const listeners = await rows(
      `SELECT 1 FROM pg_stat_activity 
         WHERE datname = current_database() AND application_name = 'toolkeeper-listener'`,
    );
    expect(listeners.length).toBe(3);
  });

  it('opens to a key at once everywhere, and closes again', async () => {
    const [one, two, three] = fleet.replicas;
    const body = { name: 'agent', scopes: ['tools:call'] };
    const { body: made } = await one!.http.post('/api/v1/keys').send(body).expect(201);
    const statuses = () =>
      Promise.all(
        [two, three].map(async (each) => {
          const { status } = await fetch(`${each!.url}/api/v1/tools`, {
            headers: { authorization: `Bearer ${made.key}` },
          });
          return status;
        }),
      );
    const become = (status: number) =>
      until(async () => (await statuses()).every((each) => each === status), {
        what: `${status} everywhere`,
        timeoutMs: 2_000,
      });
    await become(200);
    await one!.http.delete(`/api/v1/keys/${made.id}`).expect(204);
    await become(401);
  });
});
