import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { isDeepStrictEqual } from 'node:util';
import { readNotice } from '../../src/runtime/process-pool/own-dialect.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: the tools of tools/, each as a child process over stdio; mock: nothing

const toolsDir = join(__dirname, '../../tools');

/** What a tool answers: untyped by nature, the assertions are its types. */
type Json = ReturnType<typeof JSON.parse>;

interface Manifest {
  readonly name: string;
  readonly description?: string;
  readonly version?: string;
  readonly inputSchema?: object;
  readonly command: string;
  readonly args: readonly string[];
}

interface Example {
  readonly folder: string;
  readonly good: object;
  readonly bad: readonly object[];
  /** An input whose answer carries `text`, and the place where it stands. */
  readonly echo: (text: string) => { input: object; find: (reply: Json) => unknown };
}

const template = (folder: string): Example => ({
  folder,
  good: { query: 'pods', limit: 3 },
  bad: [
    {},
    { query: 5 },
    { query: '' },
    { query: 'a', limit: 0 },
    { query: 'a', limit: 101 },
    { query: 'a', limit: '5' },
  ],
  echo: (text) => ({
    input: { query: `=${text}` },
    find: (reply) => reply.result.items[0].title.split(' for =')[1],
  }),
});

const examples: readonly Example[] = [
  {
    folder: 'installed/log_summary',
    good: { text: '2024-05-01T10:00:00Z ERROR disk full' },
    bad: [
      {},
      { text: '' },
      { text: 7 },
      { text: 'a', top: 51 },
      { text: 'a', minLevel: 'loud' },
      { text: 'a', more: 1 },
    ],
    echo: (text) => ({
      input: { text: JSON.stringify({ msg: text }) },
      find: (reply) => reply.result.topMessages[0].example,
    }),
  },
  {
    folder: 'installed/json_diff',
    good: { before: { a: 1 }, after: { a: 2 } },
    bad: [
      {},
      { before: 1 },
      { before: 1, after: 2, limit: 0 },
      { before: 1, after: 2, ignore: ['a'] },
      { before: 1, after: 2, itemKey: '' },
      { before: 1, after: 2, more: 3 },
    ],
    echo: (text) => ({ input: { before: 0, after: text }, find: (reply) => reply.result.changes[0].new }),
  },
  {
    folder: 'installed/disk_usage',
    good: { path: '/' },
    bad: [
      {},
      { path: 5 },
      { path: '' },
      { path: 'tmp' },
      { path: '/'.repeat(5000) },
      { path: '/', more: true },
    ],
    echo: (text) => ({ input: { path: `/none/${text}` }, find: (reply) => reply.error.data.path.slice(6) }),
  },
  template('templates/python'),
  template('templates/node'),
  template('templates/bash'),
];

const manifestOf = (folder: string) =>
  JSON.parse(readFileSync(join(toolsDir, folder, 'tool.json'), 'utf8')) as Manifest;

/** A tool's process; what it leaves on stdout after the last answer fails the test that ends it. */
function start(folder: string, ownArgs?: string[]) {
  const { command, args } = manifestOf(folder);
  const cwd = join(toolsDir, folder);
  const child = spawn(command, ownArgs ?? args, {
    cwd,
    env: { PATH: process.env.PATH, LANG: 'C' },
    stdio: 'pipe',
  });
  child.stderr.resume();
  const decoder = new StringDecoder('utf8');
  const waiting: ((line: string) => void)[] = [];
  const lines: string[] = [];
  const notices: Json[] = [];
  let rest = '';
  child.stdout.on('data', (chunk: Buffer) => {
    const parts = (rest + decoder.write(chunk)).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) {
      if (line.includes('"method":"progress"') || line.includes('"method": "progress"')) {
        notices.push(JSON.parse(line));
        continue;
      }
      const next = waiting.shift();
      if (next) next(line);
      else lines.push(line);
    }
  });
  const nextLine = () => {
    const line = lines.shift();
    return line === undefined
      ? new Promise<string>((resolve) => waiting.push(resolve))
      : Promise.resolve(line);
  };
  const tool = {
    notices,
    write: (text: string) => child.stdin.write(text),
    reply: async (): Promise<Json> => JSON.parse(await nextLine()),
    async send(line: string): Promise<Json> {
      tool.write(`${line}\n`);
      return tool.reply();
    },
    call: (method: string, params: unknown = {}, id: unknown = 'q') =>
      tool.send(JSON.stringify({ jsonrpc: '2.0', id, method, params })),
    execute: (input: unknown) =>
      tool.call('execute', {
        input,
        context: { runId: 'r', executionId: 'e', workingDir: cwd, timeout: 5000 },
      }),
    /** Closes stdin and gives the exit code. */
    async end(): Promise<number | null> {
      const closed = once(child, 'close');
      child.stdin.end();
      const [code] = (await closed) as [number | null];
      expect({ lines, rest }).toEqual({ lines: [], rest: '' });
      return code;
    },
  };
  return tool;
}

const bashFolders = ['installed/disk_usage', 'templates/bash'];

describe.each(examples)('$folder', ({ folder, good, bad, echo }) => {
  let tool: ReturnType<typeof start>;
  beforeAll(() => {
    tool = start(folder);
  });
  afterAll(async () => expect(await tool.end()).toBe(0));

  it('says of itself what its tool.json says, with a described and bounded schema', async () => {
    const { id, result } = await tool.call('initialize', { protocolVersion: '1.0' }, 'first');
    expect(result.description).toMatch(/\.$/);
    const { name, description = result.description, ...manifest } = manifestOf(folder);
    const { version = '1.0.0', inputSchema = result.inputSchema } = manifest;
    const { protocolVersion: _its, capabilities: _theirs, ...said } = result;
    expect({ id, ...said }).toEqual({ id: 'first', name, description, version, inputSchema });
    const validate = new Ajv2020({ strict: true, strictTypes: false }).compile(result.inputSchema);
    expect(validate(good)).toBe(true);
    expect(result.inputSchema.additionalProperties).toBe(false);
    for (const property of Object.values<Json>(result.inputSchema.properties)) {
      expect(property.description).toMatch(/\w{3}.*\.$/);
    }
    for (const input of bad) expect({ input, valid: validate(input) }).toEqual({ input, valid: false });
  });

  it('is healthy', async () => {
    expect((await tool.call('health')).result).toMatchObject({ status: 'healthy' });
  });

  it('answers good input with a result', async () => {
    const reply = await tool.execute(good);
    expect(reply).toEqual({ jsonrpc: '2.0', id: 'q', result: expect.any(Object) });
  });

  it('refuses bad input by itself with -32602', async () => {
    for (const input of [...bad, 'text', [1]]) {
      const reply = await tool.execute(input);
      expect({ input, code: reply.error?.code }).toEqual({ input, code: -32602 });
    }
    expect((await tool.call('execute', [])).error.code).toBe(-32602);
  });

  it.each([
    ['{"jsonrpc":"2.0","id":1,', -32700, null],
    ['not json', -32700, null],
    ['{"jsonrpc":"2.0","id":1,"method":"health"}}', -32700, null],
    ['[1,2]', -32600, null],
    ['"text"', -32600, null],
    ['{"id":"x","method":"health"}', -32600, 'x'],
    ['{"jsonrpc":"2.0","id":5,"method":7}', -32600, 5],
    ['{"jsonrpc":"2.0","id":6,"method":"shutdown"}', -32601, 6],
  ])('answers %s with %d and goes on', async (line, code, id) => {
    expect(await tool.send(line)).toMatchObject({
      jsonrpc: '2.0',
      id,
      error: { code, message: expect.any(String) },
    });
    expect((await tool.execute(good)).result).toBeDefined();
  });

  it('answers several requests of one write in their order, with their ids', async () => {
    const ids = ['a', 7, 'quote " and \\', 'ü\u2028\n', -1.5];
    const params = { input: good, context: {} };
    tool.write(
      ids.map((id) => `${JSON.stringify({ jsonrpc: '2.0', id, method: 'execute', params })}\r\n\n`).join(''),
    );
    for (const id of ids) expect((await tool.reply()).id).toBe(id);
  });

  it('carries every text through, whatever its characters', async () => {
    const texts = [
      '"\\/\b\f\n\r\t\u0001\u001f\u007f',
      'é 漢字 \u{1f600} \u2028\u2029\ufeff',
      '$(id) `id` & %s \\1',
      "it's {}",
    ];
    for (const text of texts) {
      const { input, find } = echo(`a${text}b`);
      expect(find(await tool.execute(input))).toBe(`a${text}b`);
    }
    const text = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 60 })
      .filter((t) => !/^\s|\s$|\0/.test(t));
    await fc.assert(
      fc.asyncProperty(text, async (value) => {
        const { input, find } = echo(value);
        expect(find(await tool.execute(input))).toBe(value);
      }),
      { numRuns: 60 },
    );
  });

  it('answers the last line without a line break, and ends with 0 at end of input', async () => {
    const other = start(folder);
    other.write(JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'execute', params: { input: good } }));
    const reply = other.reply();
    const code = other.end();
    expect(await reply).toMatchObject({ id: 9, result: expect.any(Object) });
    expect(await code).toBe(0);
  });
});

describe('the examples at work', () => {
  it('log_summary counts levels, folds repetitions and finds the time span', async () => {
    const tool = start('installed/log_summary');
    const text = [
      '2024-05-01T10:00:00Z INFO Server started on port 8080',
      '2024-05-01 10:00:01,123 ERROR [db] Connection to 10.0.0.1:5432 failed after 300ms',
      '    at connect (db.js:10)',
      '2024-05-01T12:00:02.5+02:00 ERROR [db] Connection to 10.0.0.2:5432 failed after 12345ms',
      'level=warn msg="slow query" took=12.5s',
      '{"level":50,"time":1714557540000,"msg":"boom"}',
      'E0501 10:11:12.123456   12345 reconciler.go:123] failed to sync pod "a/b-12"',
      'there was no error here',
      '',
    ].join('\n');
    const { result } = await tool.execute({ text, minLevel: 'error', top: 1 });
    expect(result).toEqual({
      lines: 8,
      entries: 7,
      levels: { fatal: 0, error: 4, warn: 1, info: 1, debug: 0, trace: 0, unknown: 1 },
      firstTime: '2024-05-01T09:59:00.000Z',
      lastTime: '2024-05-01T10:00:02.500Z',
      distinctMessages: 3,
      topMessages: [
        {
          count: 2,
          level: 'error',
          message: '[db] Connection to <ip> failed after <n>ms',
          firstLine: 2,
          lastLine: 4,
          example: '[db] Connection to 10.0.0.1:5432 failed after 300ms',
        },
      ],
    });
    expect(await tool.end()).toBe(0);
  });

  it('log_summary takes a megabyte of hostile lines in its stride', async () => {
    const tool = start('installed/log_summary');
    for (const text of ['a1'.repeat(450_000), `${'_'.repeat(500)}\n`.repeat(1_700), '\n'.repeat(900_000)]) {
      const started = performance.now();
      expect((await tool.execute({ text })).result.lines).toBeLessThanOrEqual(1_700);
      // Patterns that try again at every character would take minutes.
      expect(performance.now() - started).toBeLessThan(60_000);
    }
    await tool.end();
  });

  it('json_diff lists pointers, pairs list items by key and leaves out what is ignored', async () => {
    const tool = start('installed/json_diff');
    const before = {
      m: { uid: 1, x: 1 },
      c: [
        { name: 'a', i: 1 },
        { name: 'b', i: 2 },
      ],
      'a/b~': [1, 2, 3],
    };
    const after = {
      m: { uid: 2 },
      c: [{ name: 'b', i: 3 }, { name: 'c' }, { name: 'a', i: 1 }],
      'a/b~': [1, 3],
      n: null,
    };
    const { result } = await tool.execute({ before, after, itemKey: 'name', ignore: ['/m/uid'] });
    expect(result).toEqual({
      equal: false,
      total: 6,
      truncated: false,
      changes: [
        { pointer: '/m/x', op: 'remove', old: 1 },
        { pointer: '/c/0/i', op: 'replace', old: 2, new: 3 },
        { pointer: '/c/1', op: 'add', new: { name: 'c' } },
        { pointer: '/a~1b~0/1', op: 'replace', old: 2, new: 3 },
        { pointer: '/a~1b~0/2', op: 'remove', old: 3 },
        { pointer: '/n', op: 'add', new: null },
      ],
    });
    const limited = await tool.execute({ before: [1, 2], after: { a: 1 }, ignore: [''] });
    expect(limited.result).toEqual({ equal: true, total: 0, truncated: false, changes: [] });
    const cut = await tool.execute({ before: [1, 2, 3], after: [], limit: 1 });
    expect(cut.result).toMatchObject({
      equal: false,
      total: 3,
      truncated: true,
      changes: [{ pointer: '/0' }],
    });
    await tool.end();
  });

  it('json_diff finds no difference between equal values, and one between values that differ', async () => {
    const tool = start('installed/json_diff');
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), async (a, b) => {
        const [before, after] = JSON.parse(JSON.stringify([a, b])) as [unknown, unknown];
        const same = await tool.execute({ before, after: before });
        expect(same.result).toMatchObject({ equal: true, total: 0 });
        const { result } = await tool.execute({ before, after });
        expect(result.equal).toBe(isDeepStrictEqual(before, after));
      }),
      { numRuns: 100, examples: [[{ a: 1, b: 2 }, [1, 2]]] },
    );
    await tool.end();
  });

  it('disk_usage reports bytes and inodes, and a missing path as an error of the caller', async () => {
    const tool = start('installed/disk_usage');
    const { result } = await tool.execute({ path: '/' });
    expect(result).toMatchObject({ path: '/', mountPoint: '/', device: expect.any(String) });
    expect(result.sizeBytes).toBeGreaterThan(result.availableBytes);
    expect(result).toHaveProperty('usedPercent');
    const missing = await tool.execute({ path: '/no such\n"path"' });
    expect(missing.error).toEqual({
      code: -32602,
      message: 'The path does not exist or cannot be reached',
      data: { path: '/no such\n"path"' },
    });
    await tool.end();
  });

  it.each(['templates/python', 'templates/node', 'templates/bash'])(
    '%s shows how a tool error is told',
    async (folder) => {
      const tool = start(folder);
      const { error } = await tool.execute({ query: 'fail' });
      expect(error).toEqual({
        code: -32001,
        message: 'This is how a failure is told',
        data: { query: 'fail' },
      });
      await tool.end();
    },
  );
});

describe('the templates', () => {
  it.each(['templates/python', 'templates/node', 'templates/bash'])(
    '%s says how far a call is, in notices that we read',
    async (folder) => {
      const tool = start(folder);
      await tool.execute({ query: 'x', limit: 3 });
      const read = tool.notices.map(({ method, params }) => readNotice(method, params));
      const address = folder.endsWith('python') ? { executionId: 'e' } : { id: 'q' };
      expect(read).toEqual(
        [1, 2, 3].map((progress) => ({ notice: { type: 'progress', progress, total: 3 }, ...address })),
      );
      await tool.end();
    },
  );

  it('in Node declares cancel, ends a call that waits for its signal, and answers no notification', async () => {
    const source = readFileSync(join(toolsDir, 'templates/node', 'tool.mjs'), 'utf8');
    const waits =
      "await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));";
    const dir = makeTestFolder();
    const file = join(dir, 'tool.mjs');
    writeFileSync(file, source.replace('  const items = [];\n', `  ${waits}\n  const items = [];\n`));
    const tool = start('templates/node', [file]);
    const { result } = await tool.call('initialize', {});
    expect(result).toMatchObject({ protocolVersion: '1.1', capabilities: { cancel: true } });
    const cancelled = tool.execute({ query: 'x' });
    tool.write('{"jsonrpc":"2.0","method":"cancel","params":{"id":"another","reason":"timeout"}}\n');
    tool.write('{"jsonrpc":"2.0","method":"cancel","params":{"id":"q","reason":"timeout"}}\n');
    expect(await cancelled).toMatchObject({ id: 'q', error: { code: -32000 } });
    expect((await tool.call('health')).result).toEqual({ status: 'healthy' });
    expect(await tool.end()).toBe(0);
    rmSync(dir, { recursive: true });
  });
});

describe('JSON in bash', () => {
  it('is the same file in the template and in the example', () => {
    const [first, second] = bashFolders.map((folder) =>
      readFileSync(join(toolsDir, folder, 'json.bash'), 'utf8'),
    );
    expect(first).toBe(second);
  });

  it.each(bashFolders)('%s runs nothing that stands in its input', async (folder) => {
    const dir = makeTestFolder();
    const marker = join(dir, 'ran');
    const tool = start(folder);
    const attacks = [
      `$(touch ${marker})`,
      `\`touch ${marker}\``,
      `x[$(touch ${marker})]`,
      `';touch ${marker};'`,
      `a]=$(touch ${marker})`,
    ];
    for (const attack of attacks) {
      const input = { [attack]: attack, query: attack, path: `/${attack}`, limit: attack };
      await tool.call('execute', { input, context: { [attack]: { [attack]: [attack] } } }, attack);
      await tool.call(attack);
      await tool.execute({ query: attack });
      await tool.execute({ path: `/${attack}` });
    }
    expect(await tool.end()).toBe(0);
    expect(existsSync(marker)).toBe(false);
    rmSync(dir, { recursive: true });
  });

  it('accepts what JSON.parse accepts, and nothing else', async () => {
    const tool = start('templates/bash');
    const edit = fc.record({
      json: fc.json({ maxDepth: 4, stringUnit: 'grapheme' }),
      at: fc.nat(),
      cut: fc.integer({ min: 0, max: 2 }),
      put: fc.constantFrom('', '', ...'{}[],:"\\x0-1e.+ \t', 'null', '\\u00e9', '\\ud83d'),
    });
    await fc.assert(
      fc.asyncProperty(edit, async ({ json, at, cut, put }) => {
        const start = at % (json.length + 1);
        const text = json.slice(0, start) + put + json.slice(start + cut);
        fc.pre(text.trim() !== '' && !text.includes('\\u0000'));
        const { error } = await tool.send(text);
        // A value that is no request is -32600; a member that stands twice is refused on purpose.
        if (!error.message.includes('stands twice')) expect(error.code).toBe(parses(text) ? -32600 : -32700);
      }),
      { numRuns: 1_500 },
    );
    await tool.end();
  });

  it('refuses what it cannot hold: NUL characters, deep nesting, more than 64 KiB', async () => {
    const tool = start('templates/bash');
    for (const line of [
      '"a\\u0000"',
      `${'['.repeat(40)}${']'.repeat(40)}`,
      JSON.stringify('a'.repeat(65_536)),
      '{"a":1,"a":1}',
    ]) {
      expect((await tool.send(line)).error.code).toBe(-32700);
    }
    await tool.end();
  });
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
