import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import supertest from 'supertest';
import { announceServer } from '../../src/base/common/server-file.js';
import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import { until } from '../support/wait.js';
import { CommandLine } from '../support/command-line.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: the command line as processes, the whole server, tools' processes; mock: nothing

let tk: TestApp;
let cli: CommandLine;
const data = makeTestFolder();
const desk = makeTestFolder();

beforeAll(async () => {
  const customTools = { startTimeoutMs: 2_000, cancelGraceMs: 0 };
  tk = await startApp({ TOOLKEEPER_DATA_DIR: data }, { customTools });
  announceServer(data, tk.url);
  cli = new CommandLine({ TOOLKEEPER_DATA_DIR: data }, desk);
});
afterAll(async () => {
  await tk.close();
  for (const folder of [data, desk]) rmSync(folder, { recursive: true, force: true });
});

interface Mistake {
  /** Members of tool.json beside the usual ones, or its text. */
  readonly manifest?: object | string;
  /** The program; absent: one that answers well. */
  readonly program?: string | Buffer;
  readonly make?: (folder: string) => void;
}

const send = 'print(json.dumps(m), flush=True)';
/** A program in Python; each part is code that has the request `r` and the answer `m`. */
const python = ({
  first = '',
  hello = send,
  execute = send,
  head = '#!/usr/bin/env python3',
} = {}): string => `${head}
import json, os, sys, time
${first}
for line in sys.stdin:
    r = json.loads(line)
    m = {"jsonrpc": "2.0", "id": r.get("id"), "result": {"ok": True}}
    if r["method"] == "initialize":
        m["result"] = {"name": os.environ.get("NAME"), "version": "1.0.0"}
        ${hello}
    elif r["method"] == "execute":
        ${execute}
    else:
        print(json.dumps(m), flush=True)
`;

let count = 0;

/** What an author reads: of the registration, then of a call, then of the log. */
async function told({ manifest = {}, program = python(), make }: Mistake): Promise<string> {
  const name = `m${++count}`;
  const folder = join(desk, name);
  mkdirSync(folder);
  const usual = { name, description: 'd', command: './tool.py', env: { NAME: name } };
  const text =
    typeof manifest === 'string'
      ? manifest.replace('$NAME', name)
      : JSON.stringify({ inputSchema: { type: 'object' }, timeoutMs: 1_500, ...usual, ...manifest });
  writeFileSync(join(folder, 'tool.json'), text);
  writeFileSync(join(folder, 'tool.py'), program, { mode: 0o755 });
  make?.(folder);
  const registered = await cli.run('tool', 'register', name);
  if (registered.code !== 0) return registered.stderr;
  const called = await cli.run('tool', 'call', name, '{}');
  const log = await cli.run('tool', 'logs', name);
  return [registered, called, log].map(({ stdout, stderr }) => stdout + stderr).join('\n--\n');
}

const valid = '"description": "d", "command": "./tool.py", "inputSchema": {"type": "object"}';
/** A request is answered under another id. */
const renamed = `m["id"] = "99"; ${send}`;

it.each<[what: string, mistake: Mistake, says: RegExp]>([
  [
    'the program does not exist',
    { manifest: { command: './nothing' } },
    /command ".\/nothing" does not exist/,
  ],
  ['the interpreter has another name', { manifest: { command: 'pyhton3', args: ['tool.py'] } }, /pyhton3/],
  [
    'the script is missing',
    { manifest: { command: 'python3', args: ['tol.py'] } },
    /args\/0 does not exist.*tol\.py/,
  ],
  [
    'it is not executable',
    { make: (folder) => chmodSync(join(folder, 'tool.py'), 0o644) },
    /tool\.py.*not executable/,
  ],
  ['the name is none', { manifest: { name: 'my tool' } }, /"my tool" is no name for a tool/],
  [
    'a type of the schema is none',
    { manifest: { inputSchema: { type: 'object', properties: { a: { type: 'strin' } } } } },
    /\/properties\/a\/type of its inputSchema: "strin" is no JSON type/,
  ],
  [
    'properties are a list',
    { manifest: { inputSchema: { type: 'object', properties: ['a'] } } },
    /\/properties of its inputSchema is left out \(must be object\)/,
  ],
  [
    'a comma too many in tool.json',
    { manifest: `{"name": "$NAME", ${valid},}` },
    /tool\.json: .*JSON at position/,
  ],
  [
    'a misspelt member',
    { manifest: { timeoutMS: 5 } },
    /timeoutMS is not a known field: did you mean "timeoutMs"\?/,
  ],
  [
    'a module is missing',
    { program: python({ first: 'import nothing_like_it' }) },
    /ModuleNotFoundError: No module named 'nothing_like_it'/,
  ],
  [
    'it exits at the start',
    { program: python({ first: 'sys.exit(3)' }) },
    /exit code 3 before it answered "initialize"/,
  ],
  [
    'its lines end as those of Windows',
    { program: python().replaceAll('\n', '\r\n') },
    /tool\.py has the line ends of Windows \(CRLF\)/,
  ],
  [
    'an error that is a text',
    { program: python({ execute: `del m["result"]; m["error"] = "no"; ${send}` }) },
    /its error is not \{"code": integer/,
  ],
  [
    'an answer without a result',
    { program: python({ execute: `del m["result"]; ${send}` }) },
    /neither a result nor an error/,
  ],
  [
    'NaN',
    { program: python({ execute: `m["result"] = float("nan"); ${send}` }) },
    /its answer is not JSON: .*NaN/,
  ],
  [
    'it writes into its own folder',
    { program: python({ execute: 'open("out.txt", "w")' }) },
    /write TMPDIR: sandbox\.allowedPaths/,
  ],
  [
    'packages are named and not there',
    {
      program: python({ first: 'import flask' }),
      make: (folder) => writeFileSync(join(folder, 'requirements.txt'), 'flask\n'),
    },
    /requirements\.txt names packages.*toolkeeper tool bundle/,
  ],
  [
    'a byte order mark in the script',
    { program: Buffer.concat([Buffer.from('efbbbf', 'hex'), Buffer.from(python())]) },
    /tool\.py begins with a byte order mark/,
  ],
  [
    'a byte order mark in tool.json',
    { manifest: `\uFEFF{"name": "$NAME", ${valid}}` },
    /tool\.json: it begins with a byte order mark/,
  ],
  ['no #! line', { program: python({ head: '' }).trimStart() }, /tool\.py has no #! line/],
  [
    'a virtual environment in a bundle',
    {
      make: (folder) => {
        mkdirSync(join(folder, 'venv'));
        symlinkSync('lib', join(folder, 'venv', 'lib64'));
      },
    },
    /venv\/lib64 is a link.*virtual environment.*--in-place/,
  ],
  [
    'no newline',
    { program: python({ hello: 'sys.stdout.write(json.dumps(m)); sys.stdout.flush()' }) },
    /within 2000 ms \(CUSTOM_TOOLS_START_TIMEOUT\); it wrote \d+ bytes without a newline: \{"jsonrpc"/,
  ],
  [
    'output that is not flushed',
    { program: python({ hello: 'print(json.dumps(m))' }) },
    /it wrote nothing: flush stdout/,
  ],
  [
    'an endless loop at the start',
    { program: python({ first: 'while True: pass' }) },
    /it wrote nothing: flush stdout/,
  ],
  [
    'another id at the start',
    { program: python({ hello: renamed }) },
    /it wrote an answer to id "99", expected 0: \{"jsonrpc"/,
  ],
  [
    'another id in a call',
    { program: python({ execute: renamed }) },
    /within 1500 ms; it wrote an answer to id "99", expected \d+/,
  ],
  [
    'an exit in a call',
    { program: python({ execute: 'print("disk is full", file=sys.stderr); sys.exit(1)' }) },
    /stderr ends with: disk is full \(toolkeeper tool logs m\d+\)/,
  ],
  [
    'an exception',
    { program: python({ execute: '1 / 0' }) },
    /stderr ends with: ZeroDivisionError: division by zero \(toolkeeper tool logs m\d+\)/,
  ],
  [
    'a file outside of its folder',
    { program: python({ execute: 'open("/etc/hostname")' }) },
    /\(This tool sees its own folder .*sandbox\.allowedPaths\).*FileNotFoundError: .*\/etc\/hostname/,
  ],
  [
    'a service of this host',
    { program: python({ first: 'import socket', execute: 'socket.create_connection(("127.0.0.1", 9))' }) },
    /\(This tool has no network .*sandbox\.allowedHosts.*\).*ConnectionRefusedError/,
  ],
  [
    'a host without a port',
    {
      manifest: { sandbox: { allowedHosts: ['127.0.0.1'] } },
      program: python({
        first: 'import urllib.request',
        execute: 'urllib.request.urlopen("http://127.0.0.1:3230/")',
      }),
    },
    /name the port: 127\.0\.0\.1:3230/,
  ],
  [
    'more memory than it may have',
    { manifest: { sandbox: { maxMemoryMB: 64 } }, program: python({ execute: 'bytearray(300_000_000)' }) },
    /64 MB.*\(sandbox\.maxMemoryMB\)/,
  ],
  [
    'an endless loop in a call',
    { program: python({ execute: 'while True: pass' }) },
    /timeout: The tool did not answer within 1500 ms/,
  ],
  [
    'it waits for stdin',
    { program: python({ execute: 'input()' }) },
    /timeout: The tool did not answer within 1500 ms/,
  ],
  [
    'it says no name',
    { program: python({ hello: `del m["result"]["name"]; ${send}` }) },
    /warning: +The executable does not say its name/,
  ],
  [
    'it says another name',
    { program: python({ hello: `m["result"]["name"] = "other"; ${send}` }) },
    /warning: +The executable says in initialize that its name is "other"/,
  ],
  [
    'output in Latin-1',
    {
      program: python({
        execute:
          'm["result"] = "café"; sys.stdout.buffer.write((json.dumps(m, ensure_ascii=False) + "\\n").encode("latin-1")); sys.stdout.flush()',
      }),
    },
    /bytes that are not UTF-8/,
  ],
  [
    'single quotes',
    { program: python({ execute: 'print(m, flush=True)' }) },
    /its answer is not JSON: \{'jsonrpc'/,
  ],
  [
    'too large an output',
    { program: python({ execute: `m["result"] = "x" * 5_000_000; ${send}` }) },
    /over \d+ bytes \(CUSTOM_TOOLS_MAX_OUTPUT_BYTES\)/,
  ],
])('%s', async (_what, mistake, says) => {
  expect(await told(mistake)).toMatch(says);
});

it('an interpreter in a closed folder', async () => {
  const command = join(desk, 'closed', 'python3');
  const said = await told({ manifest: { command, args: ['tool.py'] }, make: closedPython });
  // Only root starts tools as users of their own, to whom the folder is closed.
  const isRoot = process.getuid?.() === 0;
  expect(said).toMatch(isRoot ? /to allow it: chmod o\+x .*closed/ : /"ok": true/);
});

it.each<[what: string, mistake: Mistake]>([
  ['a log on stdout', { program: python({ execute: `print("working"); ${send}` }) }],
  [
    'an answer on several lines',
    { program: python({ execute: 'print(json.dumps(m, indent=2), flush=True)' }) },
  ],
  ['an id that is a number', { program: python({ execute: `m["id"] = int(m["id"]); ${send}` }) }],
])('%s is accepted', async (_what, mistake) => {
  expect(await told(mistake)).toMatch(/"ok": true/);
});

it('only callers with tools:admin read the end of stderr; the record has it', async () => {
  const crashes = { program: python({ execute: 'print("of nobody else", file=sys.stderr); sys.exit(1)' }) };
  expect(await told(crashes)).toContain('stderr ends with: of nobody else');
  const name = `m${count}`;
  const settings = { name: 'agent', owner: 'agent', scopes: ['tools:call'] };
  const { body: key } = await tk.http.post('/api/v1/keys').send(settings).expect(201);
  const agent = supertest.agent(tk.url).set(bearer(key.key));
  const callBy = (caller: TestApp['http']) =>
    caller.post(`/api/v1/tools/${name}/execute`).send({ input: {} }).expect(200);
  const [own, others] = [await callBy(tk.http), await callBy(agent)];
  const message = 'The tool ended with exit code 1 before it answered. The result is unknown';
  expect(own.body.error.message).toMatch(
    /^The tool ended .* stderr ends with: of nobody else \(toolkeeper tool logs m\d+\)$/,
  );
  expect(others.body.error.message).toContain(message);
  expect(others.text).not.toContain('nobody');
  const params = { name, arguments: {} };
  const asked = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
  const overMcp = await tk.http.post('/mcp').set('accept', 'application/json, text/event-stream').send(asked);
  expect(overMcp.text).toContain('stderr ends with: of nobody else');
  const path = `/api/v1/tool-metrics/executions/${own.body.executionId}`;
  const record = await until(
    async () => {
      const answer = await tk.http.get(path);
      return answer.status === 200 && answer.body;
    },
    { what: 'the record' },
  );
  const { errorMessage, metadata } = record;
  expect([errorMessage.includes('nobody'), metadata.stderrTail]).toEqual([false, 'of nobody else']);
});

/** An interpreter that only its owner reaches. */
function closedPython(): void {
  mkdirSync(join(desk, 'closed'), { mode: 0o700 });
  copyFileSync(realpathSync('/usr/bin/python3'), join(desk, 'closed', 'python3'));
}
