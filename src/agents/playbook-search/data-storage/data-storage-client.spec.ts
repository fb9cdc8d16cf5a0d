import { Logger } from '@nestjs/common';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { DataStorageServer } from '../../../../test/support/data-storage.js';
import { until } from '../../../../test/support/wait.js';
import type { CircuitSettings } from '../../../base/outbound/breaker/circuit-state.js';
import { loadConfig } from '../../../base/config/app-config.js';
import type { PlaybookSearch } from '../playbook-source.js';
import { type AnswerOrigin, DataStorageClient, type DataStorageSettings } from './data-storage-client.js';
import type { TryReport } from '../../../base/outbound/upstream-calls.js';
import { type UpstreamFailure } from '../../../base/outbound/upstream-failure.js';

Logger.overrideLogger(false);

const never = new AbortController().signal;
let service: DataStorageServer;
const clients: DataStorageClient[] = [];

beforeAll(async () => {
  service = await DataStorageServer.start();
});
beforeEach(async () => {
  await service.behave('ok');
  await service.forget();
});
afterEach(() => Promise.all(clients.splice(0).map((client) => client.onApplicationShutdown())));
afterAll(() => service.stop());

function defaults(): DataStorageSettings {
  const { dataStorage } = loadConfig({ DATA_STORAGE_URL: service.url, DATA_STORAGE_TOKEN: 'a-token' });
  if (!dataStorage) throw new Error('no Data Storage service is configured');
  return dataStorage;
}

const withCircuit = (changes: Partial<CircuitSettings>): CircuitSettings => ({
  ...defaults().circuit,
  ...changes,
});

/** The defaults of the configuration, with the times of a test. */
function setUp(changes: Partial<DataStorageSettings> = {}) {
  const tries: TryReport[] = [];
  const origins: AnswerOrigin[] = [];
  const observer = {
    tried: (report: TryReport) => void tries.push(report),
    answered: (origin: AnswerOrigin) => void origins.push(origin),
    circuitChanged: () => undefined,
  };
  const times = { timeoutMs: 30_000, deadlineMs: 120_000, pauseMs: 5 };
  const client = new DataStorageClient({ ...defaults(), ...times, ...changes }, observer);
  clients.push(client);
  const search = (query: string, more: Partial<PlaybookSearch> = {}, signal = never) =>
    client.searchPlaybooks({ query, similarityThreshold: 0.7, limit: 5, labels: {}, ...more }, signal);
  const failure = (query: string) =>
    search(query).then(
      () => undefined,
      (error: unknown) => error as UpstreamFailure,
    );
  return { client, tries, origins, search, failure };
}

const received = async (): Promise<number> => (await service.requests()).length;

describe('DataStorageClient', () => {
  it('test_successful_request: returns what the service found', async () => {
    const { search } = setUp();
    const { answer, stale } = await search('OOMKilled, exit code 137: memory limit', {
      labels: { 'kubernaut.io/Environment': 'production', priority: 'P0' },
    });
    expect(stale).toBe(false);
    expect(answer.playbooks[0]).toEqual({
      playbook_id: 'oomkill-increase-memory',
      version: '1.2.0',
      description: expect.any(String),
      confidence: 1,
    });
    const [request] = await service.requests();
    expect(request).toMatchObject({ method: 'GET', authorization: 'Bearer a-token' });
    expect(Object.fromEntries(new URL(request?.url ?? '', service.url).searchParams)).toEqual({
      query: 'OOMKilled, exit code 137: memory limit',
      min_confidence: '0.7',
      max_results: '5',
      'label.environment': 'production',
      'label.priority': 'P0',
    });
  });

  it('test_retry_on_timeout: asks again after a time-out, three times at most, and pauses by chance in between', async () => {
    await service.behave('black_hole');
    const { failure, tries } = setUp({ timeoutMs: 50 });
    expect(await failure('slow')).toMatchObject({ kind: 'timeout', tries: 4 });
    expect(tries.map((report) => report.failure?.kind)).toEqual(Array(4).fill('timeout'));
    // A try whose time was up before it was connected does not arrive.
    expect(await received()).toBeLessThanOrEqual(4);
  });

  it('test_circuit_breaker_opens: at half of five tries, and then the service is left alone', async () => {
    await service.behave('server_error');
    const { client, failure } = setUp();
    await failure('first');
    expect(client.circuitState).toBe('closed');
    await failure('second');
    expect(client.circuitState).toBe('open');
    expect(await failure('third')).toMatchObject({ kind: 'circuit_open', tries: 0 });
    expect(await received()).toBe(5);
  });

  it('keeps answers apart by every parameter and label, and equal labels together', async () => {
    const { search } = setUp({ circuit: withCircuit({ minCalls: 1_000 }), retries: 0 });
    const labels = { environment: 'staging', priority: 'P0' };
    await search('oomkilled', { labels });
    await service.behave('unavailable');
    const others: [string, Partial<PlaybookSearch>][] = [
      ['oomkilled!', { labels }],
      ['oomkilled', { labels, similarityThreshold: 0.8 }],
      ['oomkilled', { labels, limit: 4 }],
      ['oomkilled', {}],
      ['oomkilled', { labels: { ...labels, environment: 'production' } }],
    ];
    for (const [query, more] of others)
      await expect(search(query, more)).rejects.toMatchObject({ kind: 'server_error' });
    const same = { priority: 'P0', 'kubernaut.io/environment': 'staging' };
    expect(await search('oomkilled', { labels: same })).toMatchObject({ stale: true });
  });

  it('gives what it knew while the service fails, as stale, and asks again afterwards', async () => {
    const { search, origins } = setUp({ circuit: withCircuit({ minCalls: 1_000 }) });
    const { answer } = await search('OOMKilled memory');
    await service.behave('unavailable');
    expect(await search('OOMKilled memory')).toEqual({ answer, ttlMs: 0, stale: true });
    expect(origins.at(-1)).toBe('stale');
    await service.behave('ok');
    expect(await search('OOMKilled memory')).toMatchObject({ stale: false });
  });

  it('gives no stale answer to what the service rejects', async () => {
    const { search, failure } = setUp();
    await search('OOMKilled memory');
    await service.behave('rejected');
    expect(await failure('OOMKilled memory')).toMatchObject({ kind: 'rejected', tries: 1 });
  });

  it('gives an old answer to one who cannot wait', async () => {
    const { search } = setUp();
    await search('OOMKilled memory');
    await service.behave('black_hole');
    const caller = new AbortController();
    const found = search('OOMKilled memory', {}, caller.signal);
    caller.abort();
    expect(await found).toMatchObject({ stale: true });
  });

  it('enriches the context of an alert', async () => {
    const { client } = setUp();
    const { answer } = await client.enrichContext(
      { alertFingerprint: 'abc', similarityThreshold: 0.8, contextTypes: ['patterns'] },
      never,
    );
    expect(answer).toEqual({
      similar_incidents: [expect.objectContaining({ alert_fingerprint: 'abc' })],
      patterns: { recurrence: 'every Monday' },
      success_rates: { 'oomkill-find-leak': 0.92 },
    });
    expect(await service.requests()).toMatchObject([
      {
        method: 'POST',
        url: '/api/v1/context/enrich',
        body: { alert_fingerprint: 'abc', similarity_threshold: 0.8, context_types: ['patterns'] },
      },
    ]);
  });
});

describe('a service that fails', () => {
  it.each([
    ['refused', 'unreachable', 4],
    ['reset', 'unreachable', 4],
    ['drip', 'timeout', 4],
    ['server_error', 'server_error', 4],
    ['unavailable', 'server_error', 4],
    ['rate_limited', 'rate_limited', 4],
    ['rejected', 'rejected', 1],
    ['redirect', 'redirected', 1],
    ['invalid_json', 'invalid_answer', 1],
    ['wrong_schema', 'invalid_answer', 1],
    ['huge', 'answer_too_large', 1],
    ['huge_announced', 'answer_too_large', 1],
  ] as const)('%s: is told as %s after %i tries', async (mode, kind, tries) => {
    await service.behave(mode);
    const { failure } = setUp(kind === 'timeout' ? { timeoutMs: 50 } : {});
    expect(await failure('x')).toMatchObject({ kind, tries });
    if (kind === 'timeout') expect(await received()).toBeLessThanOrEqual(tries);
    else expect(await received()).toBe(mode === 'refused' ? 0 : tries);
  });

  it('has no name', async () => {
    // A name server may take long to say so.
    const { failure } = setUp({ url: 'http://data-storage.invalid', timeoutMs: 100_000, retries: 0 });
    expect(await failure('x')).toMatchObject({ kind: 'unreachable' });
  });

  it('speaks no HTTP', async () => {
    const noise = createServer((socket) => socket.resume().end('EHLO\r\n\r\n'));
    await once(noise.listen(0, '127.0.0.1'), 'listening');
    const { port } = noise.address() as { port: number };
    const { failure } = setUp({ url: `http://127.0.0.1:${port}` });
    expect(await failure('x')).toMatchObject({ kind: 'unreachable', tries: 4 });
    noise.close();
  });

  it('is asked again when it asks for a little time, and that time has passed', async () => {
    await service.behave('ok', { script: ['rate_limited'], retryAfter: '1' });
    const { search } = setUp();
    const begun = performance.now();
    await search('OOMKilled memory');
    expect(performance.now() - begun).toBeGreaterThanOrEqual(990);
    expect(await received()).toBe(2);
  });

  it('is not waited for when it asks for more time than there is', async () => {
    await service.behave('rate_limited', { retryAfter: '3600' });
    const { failure } = setUp();
    expect(await failure('x')).toMatchObject({ kind: 'rate_limited', tries: 1 });
  });

  it('comes back after a while: one probe goes through, and closes the circuit', async () => {
    await service.behave('server_error');
    const { client, failure, search } = setUp({ circuit: withCircuit({ openMs: 60, maxOpenMs: 60 }) });
    await failure('first');
    await failure('second');
    await until(() => client.circuitState === 'half_open', { what: 'the end of the opening' });
    await service.behave('slow', { delayMs: 100 });
    const probe = search('probe');
    expect(await failure('beside it')).toMatchObject({ kind: 'circuit_open' });
    await probe;
    expect(client.circuitState).toBe('closed');
  });

  it('keeps nobody longer than the deadline', async () => {
    await service.behave('black_hole');
    const { failure } = setUp({ timeoutMs: 60_000, deadlineMs: 300 });
    const begun = performance.now();
    expect(await failure('x')).toMatchObject({ kind: 'timeout' });
    expect(performance.now() - begun).toBeLessThan(20_000);
  });

  it('ends a try that nobody waits for, and keeps what it learned', async () => {
    await service.behave('slow', { delayMs: 50 });
    const { search, tries } = setUp();
    const caller = new AbortController();
    const left = search('OOMKilled memory', {}, caller.signal);
    caller.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    await until(() => tries.length === 1, { what: 'the answer' });
    await service.behave('rate_limited', { retryAfter: '3600' });
    expect(await search('OOMKilled memory')).toMatchObject({ stale: true });
  });
});
