import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { type LlmServer, startLlmServer } from '../support/llm-endpoint.js';
import { mapLimit } from '../support/map-limit.js';
import { until } from '../support/wait.js';

// Real: the server, PostgreSQL, processes of tools, HTTP; the model never answers.

type Headers = Readonly<Record<string, string>>;

const events = { accept: 'text/event-stream' };
let tk: TestApp;
let llm: LlmServer;
/** Two callers with a key, and one without. */
let greedy: Headers;
let other: Headers;
const keyless: Headers = {};
let left = new AbortController();
/** Asynchronous executions that the test has submitted. */
const jobs: { readonly id: string; readonly headers: Headers }[] = [];

beforeAll(async () => {
  llm = await startLlmServer();
  llm.answer = () => new Promise(() => undefined);
  // Four jobs at a time.
  tk = await startApp({ LLM_BASE_URL: llm.url, LLM_MODEL: 'gpt-4.1', CUSTOM_TOOLS_MAX_PROCESSES: '8' });
  // A call that hangs outlasts the test.
  await tk.register('worker', { keepAlive: true, poolSize: 8, timeoutMs: 600_000 });
  [greedy, other] = [await newKey('greedy'), await newKey('other')];
});
beforeEach(() => {
  left = new AbortController();
});
afterEach(async () => {
  left.abort();
  await mapLimit(jobs.splice(0), 10, cancel);
});
afterAll(async () => {
  await tk.close();
  await llm.close();
});

async function newKey(name: string): Promise<Headers> {
  const scopes = ['tools:call', 'tools:admin', 'metrics:read', 'experiments:write'];
  return bearer((await tk.http.post('/api/v1/keys').send({ name, scopes }).expect(201)).body.key);
}

/** Follows or waits; what has begun goes on until the test is over. */
const ask = (path: string, headers: Headers, body?: object): Promise<Response> =>
  fetch(`${tk.url}${path}`, {
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    signal: left.signal,
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
const json = async (path: string, headers: Headers, body?: object): Promise<Json> =>
  (await ask(path, headers, body)).json();

/** Submits a call that hangs. */
async function submit(headers: Headers): Promise<Json> {
  const body = { input: { action: 'hang' }, context: { timeoutMs: 600_000 } };
  const job = await json('/api/v1/tools/worker/execute', { ...headers, prefer: 'respond-async' }, body);
  if (job.id) jobs.push({ id: job.id, headers });
  return job;
}
const statusOf = async (id: string, headers: Headers): Promise<string> =>
  (await json(`/api/v1/executions/${id}`, headers)).status;
async function cancel({ id, headers }: (typeof jobs)[number]): Promise<void> {
  await fetch(`${tk.url}/api/v1/executions/${id}`, { method: 'DELETE', headers });
}

/** A job that runs until it is cancelled. */
async function running(headers: Headers): Promise<string> {
  const { id } = await submit(headers);
  await until(async () => (await statusOf(id, headers)) === 'running', { what: 'the start of the job' });
  return id;
}

/** A chat with a turn that runs. */
async function turn(headers: Headers): Promise<string> {
  const { id } = await json('/api/v1/assistant/chats', headers, {});
  const { status } = await ask(`/api/v1/assistant/chats/${id}/turns`, headers, { message: 'hello' });
  expect(status).toBe(200);
  return id;
}

/** What a caller holds, and what it is limited to. */
interface Limited {
  readonly what: string;
  readonly code: string;
  readonly detail: RegExp;
  readonly by: () => Headers;
  /** Prepares what is followed. @returns its path */
  readonly path: (headers: Headers) => Promise<string> | string;
  readonly accept?: Headers;
  /** How many of them that takes. */
  readonly held?: number;
}

const limited = (what: string, more: Pick<Limited, 'path'> & Partial<Limited>): Limited => ({
  what,
  code: 'rate_limited',
  detail: new RegExp(`^A caller may have 8 ${what} at a time at this server, and all callers 500$`),
  by: () => greedy,
  accept: events,
  ...more,
});

const streams: readonly Limited[] = [
  limited('streams of events', {
    by: () => keyless,
    path: () => '/api/v1/console/stream?topics=executions',
  }),
  limited('streams of events', { by: () => keyless, path: () => '/api/v1/events' }),
  limited('streams of changed tools', { by: () => keyless, path: () => '/mcp' }),
  limited('streams of logs', { path: () => '/api/v1/custom-tools/worker/logs' }),
  limited('streams of executions', { path: async (who) => `/api/v1/executions/${await running(who)}` }),
  limited('streams of turns', {
    held: 1,
    path: async (who) => `/api/v1/assistant/chats/${await turn(who)}/stream`,
  }),
];

/** Opens so many at once. @returns those that were refused, and how many were opened */
async function open(
  count: number,
  path: string,
  headers: Headers,
): Promise<{ opened: number; refused: Json[] }> {
  const answers = await Promise.all(Array.from({ length: count }, () => ask(path, headers)));
  const over = answers.filter(({ status }) => status !== 200);
  return { opened: count - over.length, refused: await Promise.all(over.map((answer) => answer.json())) };
}

describe('a caller that opens 60', () => {
  it.each(streams)(
    '$what has its own limit, and another caller does not notice',
    async ({ by, path, held = 0, ...at }) => {
      const who = { ...by(), ...at.accept };
      const place = await path(by());
      const { opened, refused } = await open(60, place, who);
      expect(opened).toBe(8 - held);
      expect(refused).toEqual(
        Array(52 + held).fill(
          expect.objectContaining({ code: at.code, status: 429, detail: expect.stringMatching(at.detail) }),
        ),
      );
      const another = await ask(await path(other), { ...other, ...at.accept });
      expect(another.status).toBe(200);
      const { id } = await json('/api/v1/ui/sessions', by(), {});
      expect((await ask(`/api/v1/console/stream?topics=events,ui:${id}`, by())).status).toBe(200);
    },
  );

  it('long waits has its own limit, and another caller waits for its execution', async () => {
    const path = `/api/v1/executions/${await running(greedy)}?waitMs=30000`;
    const answers = Array.from({ length: 60 }, () => ask(path, greedy));
    // Eight wait for the end.
    const refused: Json[] = [];
    for (const answer of answers)
      void answer.then(async (response) => refused.push(await response.json())).catch(() => undefined);
    await until(() => refused.length === 52, { what: 'the refusals' });
    expect(refused.every(({ detail }) => /^A caller may have 8 long waits at a time/.test(detail))).toBe(
      true,
    );
    const own = await running(other);
    const waits = json(`/api/v1/executions/${own}?waitMs=30000`, other);
    await cancel({ id: own, headers: other });
    expect((await waits).status).toBe('cancelled');
  });

  it('gives its places back when it leaves', async () => {
    expect((await open(9, '/api/v1/events', { ...greedy, ...events })).opened).toBe(8);
    left.abort();
    left = new AbortController();
    await until(async () => (await ask('/api/v1/events', { ...greedy, ...events })).status === 200, {
      what: 'a free place',
    });
  });
});

describe('asynchronous calls', () => {
  it('of one caller wait up to a limit; those of others begin at once, and in turn', async () => {
    const refused: Json[] = [];
    await mapLimit(Array.from({ length: 2_000 }), 50, async () => {
      const job = await submit(keyless);
      if (!job.id) refused.push(job);
    });
    const taken = [...jobs];
    expect(taken.length).toBeGreaterThanOrEqual(100);
    // Those that run are not waiting any more.
    expect(taken.length).toBeLessThanOrEqual(104);
    const detail = /^A caller may have 100 asynchronous calls with 16777216 bytes of inputs waiting/;
    for (const each of refused)
      expect(each).toMatchObject({ code: 'queue_full', status: 429, detail: expect.stringMatching(detail) });
    const since = performance.now();
    await running(other);
    expect(performance.now() - since).toBeLessThan(2_000);
    // All workers are busy now.
    const { id: next } = await submit(other);
    const withStatus = async (wanted: string): Promise<typeof jobs> => {
      const statuses = await Promise.all(taken.map(({ id }) => statusOf(id, keyless)));
      return taken.filter((_, n) => statuses[n] === wanted);
    };
    let runs: typeof jobs = [];
    // The other caller's first job may run in the place of a third one. The workers may begin one after another.
    await until(async () => (runs = await withStatus('running')).length > 1, { what: 'two running jobs' });
    expect(await statusOf(next, other)).toBe('queued');
    await mapLimit(runs, 3, cancel);
    await until(async () => (await statusOf(next, other)) === 'running', { what: "the other caller's turn" });
    expect((await withStatus('queued')).length).toBeGreaterThan(90);
  });
});

describe('sign-ins that fail', () => {
  it('are refused after a while, and never stop a right key', async () => {
    const signIn = async (key: string): Promise<number> =>
      (await tk.anonymous.post('/api/v1/session').send({ key })).status;
    const statuses = [];
    for (let n = 0; n < 40; n++) statuses.push(await signIn(`wrong ${n}`));
    expect(statuses).toEqual([...Array<number>(20).fill(401), ...Array<number>(20).fill(429)]);
    expect(await signIn(tk.key.authorization.slice(7))).toBe(201);
    expect(await signIn('wrong')).toBe(429);
  });
});

describe('turns of the assistant', () => {
  it('of one caller are counted before anything is awaited; another caller has its own', async () => {
    const third = await newKey('third');
    const chats = await Promise.all(
      Array.from({ length: 24 }, () => json('/api/v1/assistant/chats', third, {})),
    );
    const say = ({ id }: Json, headers: Headers): Promise<Response> =>
      ask(`/api/v1/assistant/chats/${id}/turns`, headers, { message: 'hello' });
    const answers = await Promise.all(chats.map((chat) => say(chat, third)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(4);
    const fourth = await newKey('fourth');
    expect((await say(await json('/api/v1/assistant/chats', fourth, {}), fourth)).status).toBe(200);
  });

  it('belong to at most 1000 chats of a key', async () => {
    const keeper = await newKey('keeper');
    const { id } = await json('/api/v1/assistant/chats', keeper, {});
    await tk.db.dataSource.query(
      `INSERT INTO assistant_chats (id, owner, project, title, usage)
       SELECT gen_random_uuid(), owner, project, title, usage FROM assistant_chats, generate_series(1, 999) WHERE id = $1`,
      [id],
    );
    const refused = await json('/api/v1/assistant/chats', keeper, {});
    expect(refused).toMatchObject({ code: 'conflict', detail: expect.stringContaining('1000 chats') });
    await fetch(`${tk.url}/api/v1/assistant/chats/${id}`, { method: 'DELETE', headers: keeper });
    expect((await ask('/api/v1/assistant/chats', keeper, {})).status).toBe(201);
  });
});
