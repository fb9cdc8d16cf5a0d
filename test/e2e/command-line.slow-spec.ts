import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { announceServer } from '../../src/base/common/server-file.js';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { CommandLine, type Ended, ok } from '../support/command-line.js';
import { relayedClient } from '../support/mcp-relay.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: the command line as processes, the whole server, tools' processes; mock: nothing

let tk: TestApp;
let cli: CommandLine;
const data = makeTestFolder();
const desk = makeTestFolder();

beforeAll(async () => {
  tk = await startApp({ TOOLKEEPER_DATA_DIR: data }, { circuit: { openMs: 500 } });
  announceServer(data, tk.url);
  cli = new CommandLine({ TOOLKEEPER_DATA_DIR: data }, desk);
});
afterAll(async () => {
  await tk.close();
  for (const folder of [data, desk]) rmSync(folder, { recursive: true, force: true });
});

it('a call that times out at the desk is reported once', async () => {
  await ok(cli.run('tool', 'create', 'hanging', '-t', 'bash'));
  cli.edit('hanging/tool.json', '"timeoutMs": 10000', '"timeoutMs": 1000');
  cli.edit('hanging/tool.sh', 'Result $number for', '$(sleep 60)');
  const { code, stdout } = await cli.runWith('{"query":"x","limit":1}', 'tool', 'dev', 'hanging', '--json');
  const events = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect([code, events.filter(({ mark }) => mark === 'error')]).toEqual([
    1,
    [{ mark: 'error', text: expect.stringMatching(/^timeout: /) }],
  ]);
});

it('from an empty folder to a tool that was broken, mended and removed', async () => {
  const name = 'main_path';
  const call = (query: string): Promise<Ended> =>
    cli.run('tool', 'call', name, JSON.stringify({ query, limit: 1 }));
  await ok(cli.run('tool', 'create', name));
  await ok(cli.runWith('{"query":"x"}', 'tool', 'dev', `${name}/tool.py`, '--json'));
  expect(await ok(cli.run('tool', 'register', name))).toMatch(/^revision: +1$[^]*^status: +active$/m);
  expect((await cli.run('tool', 'register', name)).stderr).toContain('--update');

  expect(JSON.parse(await ok(cli.run('tool', 'test', name, '{"query":"x","limit":1}')))).toMatchObject({
    count: 1,
  });
  expect(JSON.parse(await ok(call('pods')))).toMatchObject({ items: [{ title: 'Result 1 for pods' }] });
  const refused = await cli.run('tool', 'call', name, '{"limit":1}', '--json');
  expect([refused.code, JSON.parse(refused.stderr)]).toEqual([
    1,
    expect.objectContaining({ code: 'invalid_input', status: 422 }),
  ]);
  const listed = JSON.parse(await ok(cli.run('tool', 'list', '--json')));
  expect(listed).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: 'get_playbooks', kind: 'builtin' }),
      expect.objectContaining({ name, kind: 'custom', status: 'active', healthStatus: 'healthy' }),
    ]),
  );
  expect(await ok(cli.run('tool', 'list', name))).toMatch(/^main_path +custom +active +not graded /m);
  expect(await ok(cli.run('tool', 'logs', name))).toMatch(/ spawn /);

  // The next revision crashes.
  copyFileSync(join(desk, name, 'tool.py'), join(desk, name, 'broken.py'));
  cli.edit(`${name}/broken.py`, 'items = []', 'sys.exit("broken")');
  cli.edit(`${name}/tool.json`, '"tool.py"', '"broken.py"');
  cli.edit(`${name}/broken.py`, 'except Exception', 'except KeyError');
  expect(await ok(cli.run('tool', 'register', name, '--update'))).toMatch(/^revision: +2$/m);
  const broken = await Promise.all(Array.from({ length: 5 }, () => call('pods')));
  expect(broken[0]).toMatchObject({ code: 1, stderr: expect.stringContaining('tool_crashed') });
  const ill = await cli.run('tool', 'health', name);
  expect(ill).toMatchObject({ code: 1, stdout: expect.stringMatching(/^circuit: +(open|half_open)$/m) });
  expect(ill.stdout).toMatch(/^now: +\d+\.\d % of \d+ calls failing since \d{4}-.*Z, error: .*exit code 1/m);
  const state = /^main_path +custom +active +failing now, circuit (half-)?open /m;
  expect(await ok(cli.run('tool', 'list', name))).toMatch(state);

  expect(await ok(cli.run('tool', 'rollback', name, '1'))).toMatch(/^revision: +3$/m);
  expect(await ok(cli.run('tool', 'revisions', name))).toMatch(/rollback of 1/);
  await until(async () => (await call('well')).code === 0, { what: 'the circuit to let a call through' });

  await ok(cli.run('tool', 'unregister', name));
});

it.each([
  ['a program in a folder', ['to/tool.py'], 'echo_py'],
  ['a folder with a program', ['to'], 'echo_py'],
  ['a program with a name of its own', ['to/count.py'], 'echo_py'],
  ['a program that no tool could be called by', ['to/1 2.py'], 'echo_py'],
  ['a program that stays where it is', ['to/tool.py', '--in-place'], 'echo_py'],
  ['a program that is given another name', ['to/tool.py', '--name', 'chosen'], 'chosen'],
  ['a program beside a tool.json that is not meant', ['described/tool.py'], 'echo_py'],
  ['a folder with a tool.json', ['described'], 'in_manifest'],
  ['a program whose own name is none', ['nameless/tool.py'], 'nameless'],
])('%s is registered by its name', async (_what, args, name) => {
  const source = readFileSync(join(fixtures, 'echo.py'), 'utf8');
  for (const each of ['to', 'described', 'nameless']) mkdirSync(join(desk, each), { recursive: true });
  for (const each of ['to/tool.py', 'to/count.py', 'to/1 2.py', 'described/tool.py'])
    writeFileSync(join(desk, each), source);
  writeFileSync(join(desk, 'nameless/tool.py'), source.replace('"echo_py"', '"echo py"'));
  const manifest = { name: 'in_manifest', command: 'python3', args: ['tool.py'] };
  writeFileSync(join(desk, 'described/tool.json'), JSON.stringify(manifest));
  expect(JSON.parse(await ok(cli.run('tool', 'register', ...args, '--json')))).toMatchObject({ name });
  await ok(cli.run('tool', 'unregister', name));
});

it('a client at the pipe of toolkeeper mcp calls the tools of the server that runs', async () => {
  await tk.register('echo');
  const { client } = await relayedClient({ TOOLKEEPER_DATA_DIR: data });
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
  const result = await client.callTool({ name: 'echo', arguments: { text: 'ü\u2028\n' } });
  expect(result.structuredContent).toEqual({ text: 'ü\u2028\n' });
  await client.close();
});

describe('what is wrong', () => {
  it.each([
    ['an unknown command', ['tool', 'frobnicate'], 2, /unknown command/],
    ['an input that is no JSON', ['tool', 'call', 'x', '{'], 2, /must be a JSON object/],
    ['a path without a tool', ['tool', 'register', 'nowhere'], 2, /there is nothing at/],
    ['a tool that is unknown', ['tool', 'call', 'nobody'], 1, /tool_not_found/],
    ['no server', ['--url', 'http://127.0.0.1:2', 'tool', 'list'], 3, /no server answers \(.*ECONNREFUSED/],
  ])('%s', async (_what, args, code, message) => {
    const ended = await cli.run(...args);
    expect(ended).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) });
  });

  it('the key of the data directory is not shown to another server', async () => {
    const shown: (string | undefined)[] = [];
    const other = createServer((request, response) => {
      shown.push(request.headers.authorization);
      response.writeHead(401, { 'content-type': 'application/problem+json' });
      response.end('{"code":"unauthorized","detail":"Who are you?"}');
    });
    await once(other.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const ended = await cli.run('--url', url, 'tool', 'unregister', 'x');
    other.close();
    expect([ended.code, ended.stderr, shown]).toEqual([
      1,
      expect.stringContaining('set TOOLKEEPER_KEY'),
      [undefined],
    ]);
  });
});

it('the health of a tool names who holds its circuit', async () => {
  await tk.register('held');
  const hold = { by: 'ann', reason: 'failover' };
  await tk.http.post('/api/v1/tool-health/held/circuit/open').send(hold);
  const { code, stdout } = await cli.run('tool', 'health', 'held');
  expect([code, stdout]).toEqual([
    1,
    expect.stringMatching(/^circuit: +open\nheld by: +\S+\nbecause: +failover$/m),
  ]);
});

it('the health of a tool that is gone is no health', async () => {
  await tk.register('gone');
  await tk.call('gone', {}).expect(200);
  await tk.http.delete('/api/v1/custom-tools/gone').expect(204);
  for (const name of ['gone', 'never_was']) {
    const { code, stdout, stderr } = await cli.run('tool', 'health', name);
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(/There is no .*tool named/)]);
  }
});
