import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startApp, type TestApp } from '../support/app.js';
import { AssistantClient, calling, callsOf, ofType } from '../support/assistant.js';
import type { Json } from '../support/json.js';
import { type LlmServer, refuse, startLlmServer, streamed } from '../support/llm-endpoint.js';
import { McpHttpServer } from '../support/mcp-http-server.js';
import { until } from '../support/wait.js';

// real: the server, HTTP, PostgreSQL, tools, an MCP server behind a URL; scripted: what the model's endpoint sends

const key = 'sk-llm-secret-123456';
const reads = { readOnly: true, idempotent: true, destructive: false, openWorld: false };

describe('an endpoint that answers without measure', () => {
  const endpoint = spawn(process.execPath, [join(__dirname, '../fixtures/flooding-endpoint.mjs')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let tk: TestApp;
  let me: AssistantClient;
  beforeAll(async () => {
    const [url] = (await once(endpoint.stdout, 'data')) as [Buffer];
    tk = await startApp({ LLM_BASE_URL: url.toString().trim(), LLM_MODEL: 'flood' });
    me = new AssistantClient(tk.url, tk.key);
    // Loads the SDK, and lets the young generation of the heap grow to the size that `npm start` gives it at once.
    await turn('parts of one letter');
  });
  afterAll(async () => {
    await tk.close();
    endpoint.kill();
  });

  /** Reads the whole stream as a page does, and keeps nothing of it. */
  const turn = async (message: string): Promise<Json> => {
    const id = await me.newChat();
    const { body } = await me.send('POST', `/${id}/turns`, { message });
    await body?.pipeTo(new WritableStream());
    return me.get(id);
  };

  const tooLong = (most: string): object => ({
    state: 'failed',
    error: `The model gave no answer: the model's answer is longer than ${most}`,
  });

  it.each([
    ['parts of 1 KB', tooLong('262144 characters of text and arguments')],
    ['one line', tooLong('1048576 bytes in one line')],
    ['arguments', tooLong('262144 characters of text and arguments')],
    ['calls', tooLong('128 calls')],
    ['parts of one letter', tooLong('40000 lines')],
  ])('%s: the server goes on for all others', async (flood, expected) => {
    setFlagsFromString('--expose_gc');
    runInNewContext('gc')();
    const before = process.memoryUsage.rss();
    let most = before;
    const turns: number[] = [];
    let since = process.threadCpuUsage();
    const sampled = setInterval(() => {
      const { user, system } = process.threadCpuUsage(since);
      since = process.threadCpuUsage();
      turns.push((user + system) / 1_000);
      most = Math.max(most, process.memoryUsage.rss());
    }, 5);
    const chat = await turn(flood);
    clearInterval(sampled);
    // CPU time between two timers: by so much the loop is late where no other process wants the processor.
    const held = turns.sort((a, b) => a - b)[Math.floor(turns.length * 0.99)];
    expect(chat).toMatchObject(expected);
    expect(JSON.stringify(chat).length).toBeLessThan(300_000);
    expect(held).toBeLessThan(200);
    expect((most - before) / 1_048_576).toBeLessThan(50);
  });
});

describe('what an endpoint sends is bounded, and not believed', () => {
  let tk: TestApp;
  let llm: LlmServer;
  let me: AssistantClient;
  beforeAll(async () => {
    llm = await startLlmServer();
    tk = await startApp({ LLM_BASE_URL: llm.url, LLM_MODEL: 'gpt-4.1', LLM_API_KEY: key });
    me = new AssistantClient(tk.url, tk.key);
    await tk.register('reader', { annotations: reads });
  });
  afterAll(async () => {
    await tk.close();
    await llm.close();
  });

  const usage = (figures: object): string => `data: ${JSON.stringify({ choices: [], usage: figures })}\n\n`;
  const call = (index: number, given: string): string =>
    streamed({ tool_calls: [{ index, id: `c${index}`, function: { name: 'reader', arguments: given } }] });
  const tokens = { prompt_tokens: 7, completion_tokens: 3 };
  const text = 'x'.repeat(4_000);
  const estimated = { inputTokens: expect.any(Number), outputTokens: 1_000 };
  const nested = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;

  it.each<[what: string, sent: string[], chat: object]>([
    ['usage', [usage(tokens)], { usage: { inputTokens: 7, outputTokens: 3 } }],
    ['no usage', [streamed({ content: text })], { usage: estimated }],
    ['no tokens', [streamed({ content: text }), usage({ prompt_tokens: 0 })], { usage: estimated }],
    [
      'negative figures',
      [streamed({ content: text }), usage({ prompt_tokens: -1e9, completion_tokens: -1e9, cost: -1_000 })],
      { usage: { ...estimated, cost: expect.any(Number) } },
    ],
    [
      'figures without end',
      [usage({ prompt_tokens: 1e308, completion_tokens: 1e308, cost: 1e308 })],
      { usage: { inputTokens: 1e12, outputTokens: 1e12, cost: 1e12 } },
    ],
    ['its key in a text', [streamed({ content: `It is ${key}.` })], { state: 'idle' }],
    ['its key in pieces', [...key].map((content) => streamed({ content })), { state: 'idle' }],
    ['its key in arguments', [call(0, JSON.stringify({ text: key }))], { state: 'idle' }],
    ['its key in an error', [`data: {"error":{"message":"bad key ${key}"}}\n\n`], { state: 'failed' }],
    ['what is no JSON', [`data: ${'y'.repeat(500_000)}\n\n`], { state: 'failed' }],
    ['arguments that are no JSON', [call(0, `{"a":"${'z'.repeat(100_000)}`)], { state: 'idle' }],
    ['nested arguments', [call(0, nested)], { state: 'failed' }],
    ['a text that is too long', Array(80).fill(streamed({ content: text })), { state: 'failed' }],
    [
      'many calls',
      Array.from({ length: 129 }, (_, index) => call(index, '{}')),
      { state: 'failed', error: expect.stringContaining("the model's answer is longer than 128 calls") },
    ],
  ])('%s', async (_, sent, expected) => {
    llm.answer = ({ body }, response) => {
      if (body.messages.at(-1).role === 'tool') return 'Done.';
      response.setHeader('content-type', 'text/event-stream');
      for (const piece of sent) response.write(piece);
      return void response.end(`${streamed({}, { finish_reason: 'stop' })}data: [DONE]\n\n`);
    };
    const id = await me.newChat();
    await me.say(id, 'Go');
    const chat = await me.get(id);
    expect(chat).toMatchObject(expected);
    expect(JSON.stringify(chat)).not.toContain(key);
    expect(JSON.stringify(chat).length).toBeLessThan(300_000);
    expect(Math.min(chat.usage.inputTokens, chat.usage.outputTokens, chat.usage.cost)).toBeGreaterThanOrEqual(
      0,
    );
    for (const error of [chat.error, ...callsOf(chat).map(({ errorText }) => errorText)])
      expect(String(error ?? '').length).toBeLessThan(600);
  });

  it('says why it refused, without the key', async () => {
    llm.answer = (_, response) => refuse(response, 401, `bad key ${key}`);
    const id = await me.newChat();
    await me.say(id, 'Go');
    const { error } = await me.get(id);
    expect(error).toMatch(/answered 401.*bad key/);
    expect(error).not.toContain(key);
  });

  it('counts an answer that breaks off, and a chat whose figures were negative', async () => {
    const id = await me.newChat();
    await tk.db.dataSource.query(
      `UPDATE assistant_chats SET usage = '{"steps":0,"calls":0,"inputTokens":-5000,"outputTokens":-5000,"cost":-5}'`,
    );
    llm.answer = (_, response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.write(streamed({ content: text }));
      response.end('data: {"error":{"message":"gone"}}\n\n');
    };
    await me.say(id, 'Go');
    expect((await me.get(id)).usage).toMatchObject({ outputTokens: 1_000, cost: expect.any(Number) });
  });
});

describe('words of tools', () => {
  let tk: TestApp;
  let llm: LlmServer;
  let upstream: McpHttpServer;
  let me: AssistantClient;
  beforeAll(async () => {
    [llm, upstream] = await Promise.all([startLlmServer(), McpHttpServer.start()]);
    tk = await startApp({ LLM_BASE_URL: llm.url, LLM_MODEL: 'gpt-4.1' });
    me = new AssistantClient(tk.url, tk.key);
  });
  afterAll(async () => {
    await tk.close();
    await Promise.all([llm.close(), upstream.stop()]);
  });

  const asks = async (name: string, input: object = {}): Promise<{ id: string; requests: Json[] }> => {
    llm.answer = ({ body }) => (body.messages.at(-1).role === 'tool' ? 'Done.' : calling(name, input));
    const id = await me.newChat();
    return { id, requests: ofType(await me.say(id, 'Go'), 'tool-approval-request') };
  };

  describe('"reaches nobody", of an MCP server behind a URL', () => {
    const claim = { readOnlyHint: true, openWorldHint: false, destructiveHint: false };
    beforeAll(() => {
      upstream.tools = [
        { name: 'echo', description: 'Echo', inputSchema: { type: 'object' }, annotations: claim },
      ];
    });
    const server = (settings: object): Json => ({ protocol: 'mcp', url: upstream.url('/json'), ...settings });

    it('is a claim: a person is asked, and whoever approves the tool reads of it', async () => {
      await tk.http
        .post('/api/v1/custom-tools')
        .send(server({ name: 'far' }))
        .expect(201);
      expect((await asks('far__echo')).requests).toHaveLength(1);
      const { body } = await tk.http.get('/api/v1/custom-tools/far/tools').expect(200);
      expect(body.data).toMatchObject(
        [{ state: 'callable', warning: /counts as openWorld/ }].map(({ warning, ...rest }) => ({
          ...rest,
          warning: expect.stringMatching(warning),
        })),
      );
    });

    it('holds where the operator says so', async () => {
      const annotations = { openWorld: false };
      await tk.http
        .post('/api/v1/custom-tools')
        .send(server({ name: 'near', annotations }))
        .expect(201);
      expect((await asks('near__echo')).requests).toEqual([]);
    });
  });

  describe('an approval', () => {
    const approve = (id: string, { toolCallId, approvalId }: Json): Promise<Json[]> =>
      me.chunks('POST', `/${id}/approvals/${toolCallId}`, { approve: true, approvalId });
    const changes: [
      what: string,
      register: () => Promise<unknown>,
      tool: string,
      change: () => Promise<unknown>,
    ][] = [
      [
        'a custom tool',
        () => tk.register('changing', { env: { STAGE: 'first-stage' } }),
        'changing',
        () =>
          tk.http
            .patch('/api/v1/custom-tools/changing')
            .send({ env: { STAGE: 'second-stage' } })
            .expect(200),
      ],
      [
        'an MCP server',
        () =>
          tk.http
            .post('/api/v1/custom-tools')
            .send({ name: 'served', protocol: 'mcp', url: upstream.url('/json') })
            .expect(201),
        'served__echo',
        async () => {
          upstream.tools = [{ name: 'echo', description: 'Another', inputSchema: { type: 'object' } }];
          upstream.change();
          const listed = async () =>
            (await tk.http.get('/api/v1/custom-tools/served/tools').expect(200)).body;
          const isHeld = async () => (await listed()).data[0].state === 'held';
          await until(isHeld, { what: 'the changed definition' });
          const { listHash } = await listed();
          await tk.http.post('/api/v1/custom-tools/served/approve').send({ listHash }).expect(200);
        },
      ],
    ];

    it.each(changes)(
      'of a call of %s is asked for again once that has changed',
      async (_, register, tool, change) => {
        await register();
        const { id, requests } = await asks(tool, { text: 'x' });
        const [first] = requests as [Json];
        await change();
        const chunks = await approve(id, first);
        const again = ofType(chunks, 'tool-approval-request').at(-1);
        expect(again).toMatchObject({ toolCallId: first.toolCallId });
        expect(again?.approvalId).not.toBe(first.approvalId);
        expect(await me.get(id)).toMatchObject({ state: 'waiting', usage: { calls: 0 } });
        expect(ofType(await approve(id, again), 'tool-output-available')).toHaveLength(1);
        expect(await me.get(id)).toMatchObject({ state: 'idle', usage: { calls: 1 } });
      },
    );
  });

  it('that hold a secret of the tool are kept without it, in a chat and for a repeated call', async () => {
    const secret = 'sesame-open-7';
    await tk.register('leaky', { annotations: reads, env: { TOKEN: secret } });
    const { id } = await asks('leaky', { action: 'env' });
    expect(callsOf(await me.get(id))[0]).toMatchObject({ output: { result: { TOKEN: '[secret TOKEN]' } } });
    expect(JSON.stringify(llm.asked.at(-1)?.body)).not.toContain(secret);
    const send = () => tk.call('leaky', { action: 'env' }).set('idempotency-key', 'twice').expect(200);
    expect((await send()).body.result.TOKEN).toBe(secret);
    expect((await send()).body.result.TOKEN).toBe('[secret TOKEN]');
    const kept = await tk.db.dataSource.query<{ outcome: string }[]>('SELECT outcome FROM idempotency_keys');
    expect(JSON.stringify(kept)).not.toContain(secret);
  });
});
