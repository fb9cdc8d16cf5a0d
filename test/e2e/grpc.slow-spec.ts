import { type Client, credentials, loadPackageDefinition, Metadata, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { service as healthService } from 'grpc-health-check';
import { join } from 'node:path';
import { CircuitHistories } from '../../src/call/circuits/circuit-transitions.repository.js';
import { Lifecycle } from '../../src/base/common/lifecycle.js';
import { GrpcServer } from '../../src/edge/grpc/grpc.module.js';
import { ToolMetricsRepository } from '../../src/records/executions/tool-metrics.repository.js';
import { startApp, type TestApp } from '../support/app.js';
import { query } from '../support/test-server.js';
import { until } from '../support/wait.js';

// Real: the whole server, gRPC over HTTP/2 with a client made from the proto file, PostgreSQL.

type Answer = Record<string, unknown>;
type Unary = (
  request: object,
  metadata: Metadata,
  done: (error: (Failure & Error) | null, answer: Answer) => void,
) => void;
interface Failure {
  readonly code: status;
  readonly details: string;
}

const proto = join(__dirname, '..', '..', 'docs', 'tool-health.proto');
const options = { keepCase: true, longs: Number, defaults: true, oneofs: false };

let tk: TestApp;
let client: Client & Record<string, Unary>;
let keys: Record<'reader' | 'admin', string>;

type Stub = new (address: string, security: unknown) => Client & Record<string, Unary>;
const stubOf = (definition: object, name: string): Client & Record<string, Unary> => {
  const made = name
    .split('.')
    .reduce(
      (at: unknown, part) => (at as Answer)[part],
      loadPackageDefinition(definition as Parameters<typeof loadPackageDefinition>[0]),
    ) as Stub;
  return new made(
    `127.0.0.1:${tk.app.get(GrpcServer, { strict: false }).port}`,
    credentials.createInsecure(),
  );
};

beforeAll(async () => {
  tk = await startApp({ GRPC_PORT: '0' });
  client = stubOf(loadSync(proto, options), 'toolkeeper.v1.ToolHealth');
  const { body } = await tk.http
    .post('/api/v1/keys')
    .send({ name: 'reader', scopes: ['metrics:read'] })
    .expect(201);
  keys = { reader: body.key, admin: tk.key.authorization.replace('Bearer ', '') };
});

afterAll(async () => {
  client.close();
  await tk.close();
});

const headers = (...pairs: [name: string, value: string][]): Metadata => {
  const metadata = new Metadata();
  for (const [name, value] of pairs) metadata.set(name, value);
  return metadata;
};
const admin = (): Metadata => headers(['authorization', `Bearer ${keys.admin}`]);

const ask = (method: string, request: object = {}, metadata = admin(), of = client): Promise<Answer> =>
  new Promise((resolve, reject) =>
    of[method]?.(request, metadata, (error, answer) => (error ? reject(error) : resolve(answer))),
  );
const refusal = (...asked: Parameters<typeof ask>): Promise<Failure> =>
  ask(...asked).then(
    (answer) => Promise.reject(new Error(`answered ${JSON.stringify(answer)}`)),
    ({ code, details }: Failure) => ({ code, details }),
  );

const camel = (name: string): string =>
  name.replaceAll(/_([a-z\d])/g, (_, letter: string) => letter.toUpperCase());

/** What a REST answer says in the fields of a message; absent is what REST shows as null. */
function shownIn(message: unknown, rest: unknown): unknown {
  if (Array.isArray(message)) return (rest as unknown[]).map((item, at) => shownIn(message[at], item));
  if (typeof message !== 'object' || message === null) return rest;
  return Object.fromEntries(
    Object.keys(message).map((name) => {
      const members = rest as Answer;
      const own = name in members ? name : camel(name);
      return [name, shownIn((message as Answer)[name], members[own])];
    }),
  );
}

/** Seed of every method: calls that went well, that failed and that took long. */
beforeAll(async () => {
  for (let n = 0; n < 9; n++)
    await ask('RecordExecution', { tool_name: 'elsewhere', user_id: 'user-123', execution_time_ms: 100 + n });
  await ask('RecordExecution', {
    tool_name: 'elsewhere',
    status: 'timeout',
    execution_time_ms: 6_000,
    error_type: 'timeout',
    error_message: 'Search timed out after 5000ms',
  });
});

const until2099 = '2099-01-01T00:00:00.000Z';
const since = '2026-01-01T00:00:00.000Z';

describe('each field of each answer is that of REST', () => {
  it.each([
    [
      'CheckToolHealth',
      { tool_name: 'elsewhere', period_hours: 2 },
      'tool-health/elsewhere?periodHours=2',
      'tool_name status success_rate avg_latency_ms total_calls recent_errors issues recommendations checked_at',
    ],
    [
      'CheckToolHealth',
      { tool_name: 'nobody' },
      'tool-health/nobody',
      'tool_name status success_rate avg_latency_ms total_calls recent_errors issues recommendations checked_at',
    ],
    ['CheckAllToolsHealth', {}, 'tool-health', 'status tool_reports summary checked_at'],
    ['GetHealthSummary', {}, 'tool-health/summary', 'overall_status tools checked_at'],
    [
      'GetToolHealth',
      { tool_name: 'elsewhere' },
      'tool-health/elsewhere/info',
      'status total_calls successful_calls failed_calls success_rate avg_latency_ms last_success last_failure last_error',
    ],
    [
      'GetToolStats',
      { tool_name: 'elsewhere', since, until: until2099 },
      `tool-metrics/stats/elsewhere?since=${since}&until=${until2099}`,
      'tool_name total_calls success_count error_count timeout_count success_rate avg_time_ms min_time_ms max_time_ms total_input_bytes total_output_bytes period',
    ],
    [
      'GetToolStats',
      { tool_name: 'nobody', since, until: until2099 },
      `tool-metrics/stats/nobody?since=${since}&until=${until2099}`,
      'tool_name total_calls success_rate avg_time_ms period',
    ],
    [
      'ShouldCircuitBreak',
      { tool_name: 'elsewhere', error_threshold: 1, window_minutes: 9 },
      'tool-health/elsewhere/circuit/advice?errorThreshold=1&windowMinutes=9',
      'tool should_break errors error_threshold window_minutes',
    ],
  ])('%s %j', async (method, request, path, fields) => {
    const answer = await ask(method, request, headers(['x-api-key', keys.reader]));
    const { body } = await tk.http.get(`/api/v1/${path}`).expect(200);
    const told = JSON.parse(JSON.stringify(answer)) as Answer;
    expect(Object.keys(told).sort()).toEqual(fields.split(' ').sort());
    // Each report says when it was made.
    const still = (text: string): unknown =>
      JSON.parse(text.replaceAll(/"checked_?[aA]t":"[^"]+"/g, '"checked_at":"then"'));
    expect(still(JSON.stringify(shownIn(told, body)))).toEqual(still(JSON.stringify(told)));
  });
});

describe('RecordExecution', () => {
  const metadata = { region: 'eu', external: 'false' };

  it('gives the row back, which says that it ran elsewhere and whose key told of it', async () => {
    const answer = await ask('RecordExecution', {
      tool_name: 'code_search',
      user_id: 'user-123',
      status: 'error',
      execution_time_ms: 5_000,
      session_id: 'sess-456',
      request_id: 'req-789',
      error_type: 'timeout',
      error_message: 'x'.repeat(5_000),
      metadata,
    });
    const { body } = await tk.http
      .get(`/api/v1/tool-metrics/executions/${String(answer['metric_id'])}`)
      .expect(200);
    expect(body).toMatchObject({
      toolName: 'code_search',
      userId: 'user-123',
      status: 'error',
      executionTimeMs: 5_000,
      sessionId: 'sess-456',
      requestId: 'req-789',
      errorType: 'timeout',
      errorMessage: 'x'.repeat(4_096),
      metadata: { region: 'eu', external: true, keyId: 'admin' },
    });
    const { metadata: told, ...row } = answer;
    expect(shownIn(row, body)).toEqual(row);
    expect(told).toEqual({ region: 'eu', external: 'true', keyId: 'admin' });
  });

  it('counts for the grade and for the advice, and for no circuit: live, after a restart, of all replicas', async () => {
    for (let n = 0; n < 8; n++)
      await ask('RecordExecution', { tool_name: 'broken', status: 'error', error_type: 'tool_error' });
    expect(await ask('CheckToolHealth', { tool_name: 'broken' })).toMatchObject({
      status: 'unhealthy',
      total_calls: 8,
    });
    expect(await ask('ShouldCircuitBreak', { tool_name: 'broken' })).toMatchObject({
      should_break: true,
      errors: 8,
    });
    const hourAgo = new Date(Date.now() - 3_600_000);
    const pasts = await tk.app.get(CircuitHistories, { strict: false }).read(hourAgo);
    expect(pasts.get('broken')?.samples ?? []).toEqual([]);
    const counts = await tk.app
      .get(ToolMetricsRepository, { strict: false })
      .getFaultCounts('broken', hourAgo);
    expect(counts).toEqual({ calls: 0, faults: 0 });
  });

  it('spends no budget: it belongs to no investigation', async () => {
    const { body } = await tk.http.get('/api/v1/investigations').expect(200);
    expect(body.data).toEqual([]);
  });
});

describe('keys', () => {
  const read = ['GetHealthSummary', {}] as const;
  const write = ['RecordExecution', { tool_name: 'x' }] as const;

  it.each([
    ['a wrong key', read, ['authorization', 'Bearer tk_wrong'], status.UNAUTHENTICATED, 'not known'],
    ['no key, to write', write, undefined, status.UNAUTHENTICATED, 'Send an API key'],
    ['a key that only reads', write, ['x-api-key', 'reader'], status.PERMISSION_DENIED, 'tools:admin'],
    ['a name that is not local', read, ['x-forwarded-for', '10.0.0.1'], status.UNAUTHENTICATED, 'proxy'],
  ] as const)('%s is refused', async (_what, [method, request], header, code, words) => {
    const shown =
      header && ([header[0], header[1] === 'reader' ? keys.reader : header[1]] as [string, string]);
    const refused = await refusal(method, request, headers(...(shown ? [shown] : [])));
    expect(refused).toEqual({ code, details: expect.stringContaining(words) });
  });

  it('without a key this machine may read, as over REST', async () => {
    expect(await ask(...read, headers())).toMatchObject({ overall_status: expect.any(String) });
  });
});

describe('what is wrong is named', () => {
  it.each([
    ['CheckToolHealth', {}, 'tool_name is required'],
    ['CheckToolHealth', { tool_name: ' ' }, 'tool_name'],
    ['CheckToolHealth', { tool_name: 'x', period_hours: 0 }, 'period_hours'],
    ['GetToolStats', { tool_name: 'x', since: 'yesterday' }, 'since must be an ISO 8601 time'],
    ['GetToolStats', { tool_name: 'x', since: until2099, until: since }, 'since'],
    ['ShouldCircuitBreak', { tool_name: 'x', window_minutes: -1 }, 'window_minutes'],
    ['RecordExecution', { tool_name: 'x', status: 'fine' }, 'status must be'],
    ['RecordExecution', { tool_name: 'x', execution_time_ms: -1 }, 'execution_time_ms'],
    ['RecordExecution', { tool_name: 'x', user_id: 'u'.repeat(257) }, 'user_id'],
    ['RecordExecution', { tool_name: 'x\u0000' }, 'tool_name'],
  ])('%s %j', async (method, request, words) => {
    const { code, details } = await refusal(method, request);
    expect([code, details]).toEqual([status.INVALID_ARGUMENT, expect.stringContaining(words)]);
  });

  it('a tool without calls is not found', async () => {
    const { code, details } = await refusal('GetToolHealth', { tool_name: 'nobody' });
    expect([code, details]).toEqual([status.NOT_FOUND, expect.stringContaining('"nobody"')]);
  });

  it('a request of more than 64 KiB', async () => {
    const { code } = await refusal('RecordExecution', { tool_name: 'x', error_message: 'x'.repeat(70_000) });
    expect(code).toBe(status.RESOURCE_EXHAUSTED);
  });
});

describe('reflection', () => {
  /** The bytes of its answer to one request of gRPC's reflection service. */
  const reflect = (request: Buffer, metadata: Metadata): Promise<string> =>
    new Promise((resolve, reject) => {
      const stream = client.makeBidiStreamRequest(
        '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
        (sent: Buffer) => sent,
        (read) => read.toString('latin1'),
        metadata,
      );
      stream.on('data', resolve).on('error', reject);
      stream.write(request);
      stream.end();
    });
  /** `list_services` of any name. */
  const services = Buffer.from([0x3a, 0]);
  const symbol = 'toolkeeper.v1.ToolHealth';
  const fileOf = Buffer.concat([Buffer.from([0x22, symbol.length]), Buffer.from(symbol)]);

  it('names the services, and the fields as the proto file has them', async () => {
    const listed = await reflect(services, admin());
    expect(listed).toContain(symbol);
    expect(await reflect(fileOf, headers())).toContain('avg_latency_ms');
  });

  it('needs what the documents need', async () => {
    const refused = reflect(services, headers(['x-api-key', 'tk_wrong']));
    await expect(refused).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
  });
});

it('is unavailable while the database is away', async () => {
  const url = new URL(tk.db.url);
  const name = url.pathname.slice(1);
  const server = process.env['TEST_DATABASE_SERVER'] ?? '';
  await query(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
  await query(server, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
  try {
    for (const method of ['CheckToolHealth', 'RecordExecution'])
      expect((await refusal(method, { tool_name: 'x' })).code).toBe(status.UNAVAILABLE);
  } finally {
    await query(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
  }
  const back = (): Promise<boolean> =>
    ask('CheckToolHealth', { tool_name: 'x' }).then(
      () => true,
      () => false,
    );
  await until(back, { what: 'the database to be back' });
});

it('is ready as /readyz is, and answers no more once the server drains', async () => {
  const probe = stubOf({ 'grpc.health.v1.Health': healthService }, 'grpc.health.v1.Health');
  const serving = (name: string) => async (): Promise<boolean> =>
    (await ask('check', { service: 'toolkeeper.v1.ToolHealth' }, headers(), probe))['status'] === name;
  await until(serving('SERVING'), { what: 'the service to be ready' });
  tk.app.get(Lifecycle).drain();
  await until(serving('NOT_SERVING'), { what: 'the service to say that it stops' });
  expect(await refusal('GetHealthSummary')).toEqual({
    code: status.UNAVAILABLE,
    details: 'The server is stopping',
  });
  probe.close();
});
