import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type request from 'supertest';
import { fixtures } from '../support/app.js';
import { makeTestFolder } from '../support/test-folder.js';
import { type Fleet, type FleetReplica, register, startFleet } from '../support/fleet.js';
import type { Json } from '../support/json.js';
import { until } from '../support/wait.js';

// real: three servers in processes of their own, PostgreSQL, HTTP, tools; mock: nothing

let fleet: Fleet;
let [one, two, three]: FleetReplica[] = [] as never;
beforeAll(async () => {
  fleet = await startFleet(2, { CUSTOM_TOOLS_ALLOWED_ENV: 'FLEET_*' });
  await fleet.join({ FLEET_BROKEN: 'yes' });
  [one, two, three] = fleet.replicas;
});
afterAll(() => fleet.stop());

const rows = <Row>(sql: string, values: unknown[] = []): Promise<Row[]> =>
  fleet.db.dataSource.query(sql, values);

/** Answers of calls in turn, as a balancer would spread them. */
const spread = async (calls: number, name: string, input = {}): Promise<Json[]> => {
  const answers: Json[] = [];
  for (let n = 0; n < calls; n++) answers.push((await fleet.replicas[n % 3]!.call(name, input)).body);
  return answers;
};

describe('a fleet', () => {
  it('knows its replicas, and listens on one connection for each', async () => {
    await until(async () => (await rows(`SELECT 1 FROM replicas WHERE address IS NOT NULL`)).length === 3, {
      what: 'three replicas',
    });
    const found = await rows<{ address: string }>(
      `SELECT address FROM replicas WHERE seen_at > now() - interval '15 s' AND parts->'server' IS NULL`,
    );
    expect(found.map(({ address }) => address).sort()).toEqual(fleet.replicas.map(({ url }) => url).sort());
    const { body } = await two!.http.get('/api/v1/replicas').expect(200);
    expect(body.data.map(({ self }: Json) => self).filter(Boolean)).toHaveLength(1);
    expect(body.data[0]).toMatchObject({
      version: expect.any(String),
      tier: expect.any(Number),
      journal: { depth: expect.any(Number) },
    });
    const listeners = await rows(
      `SELECT 1 FROM pg_stat_activity 
         WHERE datname = current_database() AND application_name = 'toolkeeper-listener'`,
    );
    expect(listeners.length).toBe(3);
  });

  it('opens to a key at once everywhere, and closes again', async () => {
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
    expect(await statuses()).toEqual([200, 200]);
    await one!.http.delete(`/api/v1/keys/${made.id}`).expect(204);
    expect(await statuses()).toEqual([401, 401]);
  });
});

describe('what is done to a tool at one replica', () => {
  const codesElsewhere = async (name: string, input = {}): Promise<string[]> => {
    const answers = await Promise.all([two!.call(name, input), three!.call(name, input)]);
    return answers.map(({ body: { code, status, error } }) => code ?? error?.type ?? status);
  };

  it('holds everywhere once it was answered', async () => {
    for (let n = 0; n < 4; n++) {
      await register(one!, `new_${n}`);
      const answers = await spread(9, `new_${n}`);
      expect(answers.map(({ status, detail }) => detail ?? status)).toEqual(Array(9).fill('success'));
    }
    const hang = { action: 'sleep', ms: 500 };
    await one!.http.patch('/api/v1/custom-tools/new_0').send({ timeoutMs: 60 }).expect(200);
    expect(await codesElsewhere('new_0', hang)).toEqual(['timeout', 'timeout']);
    for (let n = 0; n < 2; n++) {
      await one!.http.post('/api/v1/custom-tools/new_1/disable').expect(200);
      expect(await codesElsewhere('new_1')).toEqual(['tool_not_found', 'tool_not_found']);
      await one!.http.post('/api/v1/custom-tools/new_1/enable').expect(200);
      expect(await codesElsewhere('new_1')).toEqual(['success', 'success']);
    }
    await one!.http.delete('/api/v1/custom-tools/new_2').expect(204);
    expect(await codesElsewhere('new_2')).toEqual(['tool_not_found', 'tool_not_found']);
  });

  it('is answered all the same while another replica hangs, with the name of that one', async () => {
    const name = `${hostname()}:${new URL(three!.url).port}`;
    const { body: key } = await one!.http
      .post('/api/v1/keys')
      .send({ name: 'k', scopes: ['tools:call'] })
      .expect(201);
    const acts: [string, () => request.Test, object][] = [
      ['open', () => one!.http.post('/api/v1/tool-health/new_3/circuit/open').send({}), { state: 'open' }],
      [
        'close',
        () => one!.http.post('/api/v1/tool-health/new_3/circuit/close').send({}),
        { state: 'closed' },
      ],
      ['raise', () => one!.http.patch('/api/v1/investigations/i').send({ tools: { new_3: 99 } }), {}],
      ['disable', () => one!.http.post('/api/v1/custom-tools/new_3/disable'), { status: 'inactive' }],
      ['delete', () => one!.http.delete('/api/v1/custom-tools/new_3'), {}],
      ['revoke', () => one!.http.delete(`/api/v1/keys/${key.id}`), {}],
    ];
    const pid = three!.child.pid!;
    process.kill(pid, 'SIGSTOP');
    try {
      for (const [act, send, more] of acts) {
        const { status, body } = await send();
        expect([act, status, body]).toEqual([
          act,
          202,
          expect.objectContaining({ ...more, confirmed: false, missing: expect.arrayContaining([name]) }),
        ]);
      }
      const { body } = await one!.http.get('/api/v1/replicas').expect(200);
      const shown = body.data.find((each: Json) => each.name === name);
      expect(shown).toMatchObject({ host: hostname(), silentSince: shown.seenAt });
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    expect((await two!.call('new_3')).body.code).toBe('tool_not_found');
    await until(
      async () => {
        const { body } = await one!.http.get('/api/v1/replicas').expect(200);
        return body.data.length === 3 && body.data.every(({ silentSince }: Json) => silentSince === null);
      },
      { what: 'the replica to answer again' },
    );
  });

  it('is in the list of events of its replica when it is answered', async () => {
    for (let n = 0; n < 6; n++) {
      const act = n % 2 === 0 ? 'open' : 'close';
      await two!.http.post(`/api/v1/tool-health/new_1/circuit/${act}`).send({}).expect(200);
      const { body } = await two!.http.get('/api/v1/events').query({ tool: 'new_1' }).expect(200);
      expect(body.data.filter(({ type }: Json) => type.startsWith('circuit.'))).toHaveLength(n + 1);
    }
  });
});

describe('a circuit', () => {
  const codes = (answers: readonly Json[]): string[] =>
    answers.map(({ code, status, error }) => code ?? error?.type ?? status);
  const circuitAt = async (replica: FleetReplica, name: string): Promise<Json> =>
    (await replica.http.get(`/api/v1/tool-health/${name}/circuit`).expect(200)).body;

  it('opens at five faults of all replicas, everywhere', async () => {
    await register(one!, 'failing');
    const seen = codes(await spread(18, 'failing', { action: 'crash' }));
    const faults = seen.filter((code) => code === 'tool_crashed').length;
    expect(seen).toEqual([...Array(faults).fill('tool_crashed'), ...Array(18 - faults).fill('circuit_open')]);
    expect(faults).toBeGreaterThanOrEqual(5);
    expect(faults).toBeLessThanOrEqual(8);
  });

  it('that several replicas open at once is one event and one change', async () => {
    for (let n = 0; n < 3; n++) {
      const name = `quick_${n}`;
      await register(one!, name, { keepAlive: true });
      await spread(3, name);
      const crash = () =>
        Promise.all(fleet.replicas.map((replica) => replica.call(name, { action: 'error', code: -32001 })));
      await until(async () => (await crash()).every(({ body }) => body.code === 'circuit_open'), {
        what: 'the circuit to open everywhere',
      });
      const opened = async (): Promise<Json[]> =>
        (await one!.http.get('/api/v1/events').query({ tool: name, type: 'circuit.opened' })).body.data;
      await until(async () => (await opened()).length > 0, { what: 'the event' });
      // What another replica still writes is there after its next act by hand.
      for (const { http } of fleet.replicas)
        await http.post('/api/v1/tool-health/new_0/circuit/reset').send({}).expect(200);
      expect(await opened()).toHaveLength(1);
      const changes = `SELECT 1 FROM circuit_transitions WHERE tool = $1 AND to_state = 'open'`;
      expect(await rows(changes, [name])).toHaveLength(1);
    }
  });

  it('obeys a hand at one replica everywhere, once that was answered', async () => {
    await register(one!, 'handled');
    await spread(3, 'handled');
    await one!.http.post('/api/v1/tool-health/handled/circuit/open').send({ reason: 'by hand' }).expect(200);
    expect(codes(await spread(9, 'handled'))).toEqual(Array(9).fill('circuit_open'));
    await two!.http.post('/api/v1/tool-health/handled/circuit/close').send({}).expect(200);
    expect(codes(await spread(9, 'handled'))).toEqual(Array(9).fill('success'));
  });

  it("opens at one replica alone for that replica's own trouble", async () => {
    const script = join(makeTestFolder(), 'sometimes.mjs');
    const fixture = join(fixtures, 'fixture-tool.mjs');
    writeFileSync(
      script,
      `if (process.env.FLEET_BROKEN) process.exit(1);\nawait import(${JSON.stringify(fixture)});\n`,
    );
    await register(one!, 'sometimes', {
      args: [script],
      sandbox: { allowedPaths: [dirname(script), fixtures] },
      permissions: { allowedEnvironmentVars: ['FLEET_BROKEN'] },
    });
    const seen: string[][] = [];
    for (let n = 0; n < 8; n++) seen.push(codes(await spread(3, 'sometimes')));
    expect(seen.flatMap(([first, second]) => [first, second])).toEqual(Array(16).fill('success'));
    expect(seen.at(-1)?.[2]).not.toBe('success');
    expect((await circuitAt(one!, 'sometimes')).state).toBe('closed');
    expect((await circuitAt(two!, 'sometimes')).state).toBe('closed');
  });
});

describe('asynchronous executions', () => {
  it('begin at all replicas at once, where the first ones make the tables of the queue', async () => {
    await register(one!, 'later', { poolSize: 4 });
    const submitted = await Promise.all(
      Array.from({ length: 18 }, (_, n) =>
        fleet.replicas[n % 3]!.call('later', {}, { prefer: 'respond-async' }),
      ),
    );
    expect(submitted.map(({ status }) => status)).toEqual(Array(18).fill(202));
    for (const { headers } of submitted) {
      const { body } = await two!.http.get(`${headers['location']}?waitMs=20000`).expect(200);
      expect(body.outcome.status).toBe('success');
    }
    expect(fleet.replicas.map((replica) => replica.log()).join('\n')).not.toContain('The queue reports');
  });
});

describe('at rest', () => {
  const keepers = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid = ${0x686f7573} AND objid = ${0x656b6570} AND objsubid = 1`;

  it('one replica keeps house, and another takes over when it is gone', async () => {
    const [first] =
      (await until(
        async () => {
          const found = await rows<{ pid: number }>(keepers);
          return found.length === 1 && found;
        },
        { what: 'one keeper' },
      )) || [];
    await rows('SELECT pg_terminate_backend($1)', [first?.pid]);
    await until(async () => (await rows<{ pid: number }>(keepers)).some(({ pid }) => pid !== first?.pid), {
      what: 'another keeper',
    });
  });

  it('a replica has nine connections at most', async () => {
    await Promise.all(
      Array.from({ length: 60 }, (_, n) => fleet.replicas[n % 3]!.http.get('/api/v1/custom-tools')),
    );
    const connections = await rows<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_stat_activity
       WHERE datname = current_database() AND application_name LIKE 'toolkeeper%'`,
    );
    expect(connections[0]?.n).toBeLessThanOrEqual(27);
  });
});

describe('the log of a tool', () => {
  const path = '/api/v1/custom-tools/chatty/logs';
  const read = async (replica: FleetReplica, query: Record<string, unknown> = {}): Promise<Json> =>
    (await replica.http.get(path).query(query).expect(200)).body;
  const idsOf = ({ data }: Json): string[] => data.map(({ id }: Json) => id);
  const chatterOf = ({ data }: Json): Json[] => data.filter(({ event }: Json) => event === 'stdout');
  /** Each replica writes two more lines. */
  const chat = async (replica: FleetReplica, lines: number): Promise<Json> => {
    await spread(3, 'chatty', { action: 'noise', lines: 2 });
    const all = async (): Promise<Json> => {
      const page = await read(replica, { limit: 1_000 });
      return chatterOf(page).length === lines ? page : undefined;
    };
    return until(all, { what: `${lines} lines` });
  };
  let before: Json;

  it('has the lines of all replicas at each of them, in order', async () => {
    await register(one!, 'chatty', { keepAlive: true });
    before = await chat(two!, 6);
    expect(before.partial).toBe(false);
    expect(new Set(chatterOf(before).map(({ replica }) => replica)).size).toBe(3);
    const times = before.data.map(({ timestamp }: Json) => timestamp);
    expect(times).toEqual([...times].sort());
    expect(new Set(idsOf(before)).size).toBe(before.data.length);
    expect(idsOf(await read(three!, { limit: 5 }))).toEqual(idsOf(before).slice(-5));
  });

  it('is read on at any replica, without a gap and nothing twice', async () => {
    const { nextSince } = await read(one!, { limit: 3 });
    const after = await chat(two!, 12);
    const found: Json[] = [];
    let page: Json = { nextSince };
    for (let n = 0; n === 0 || page.data.length > 0; n++) {
      page = await read(fleet.replicas[n % 3]!, { limit: 4, since: page.nextSince });
      expect(page.data.length).toBeLessThanOrEqual(4);
      found.push(...chatterOf(page));
    }
    expect(found.map(({ id }) => id).sort()).toEqual(
      chatterOf(after)
        .slice(6)
        .map(({ id }) => id)
        .sort(),
    );
  });

  it('is followed at one replica, which is named', async () => {
    const leave = new AbortController();
    const answer = await fetch(two!.url + path, {
      headers: { authorization: 'Bearer the-key-of-the-whole-fleet', accept: 'text/event-stream' },
      signal: leave.signal,
    });
    const { value } = await answer.body!.getReader().read();
    leave.abort();
    const { body } = await two!.http.get('/api/v1/replicas').expect(200);
    const replica = body.data.find(({ self }: Json) => self).id;
    expect(new TextDecoder().decode(value)).toContain(
      `event: replica\ndata: ${JSON.stringify({ replica })}\n\n`,
    );
  });

  it('is handed out by one replica only for a fresh signature of the very request', async () => {
    const ask = async (signed: string, lastsMs: number, asked = signed, secret = 7) => {
      const key = createHmac('sha256', Buffer.alloc(32, secret)).update('toolkeeper replicas').digest();
      const expiry = Date.now() + lastsMs;
      const signature = createHmac('sha256', key).update(`${expiry} ${signed}`).digest('base64url');
      return two!.http.get(asked).set('x-toolkeeper-replica', `${expiry}.${signature}`);
    };
    const own = `${path}/own?limit=1000`;
    const { status, body } = await ask(own, 5_000);
    expect(status).toBe(200);
    expect(new Set(body.data.map(({ replica }: Json) => replica)).size).toBe(1);
    const others = [
      ask(own, -1),
      ask(own, 5_000, own.replace('chatty', 'other')),
      ask(own, 5_000, own, 8),
      two!.http.get(own),
    ];
    expect((await Promise.all(others)).map((refused) => refused.status)).toEqual([404, 404, 404, 404]);
  });

  it('says that a replica did not answer, and keeps the place in its lines', async () => {
    const { nextSince } = await read(one!);
    await three!.end('SIGKILL');
    const page = await read(one!, { since: nextSince });
    expect(page.partial).toBe(true);
    expect(page.nextSince.split(',').sort()).toEqual(nextSince.split(',').sort());
  });
});
