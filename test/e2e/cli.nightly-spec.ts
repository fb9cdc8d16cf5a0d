import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { announceServer } from '../../src/base/common/server-file.js';
import { startApp, type TestApp } from '../support/app.js';
import { CommandLine, ok } from '../support/command-line.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: the command line as processes, the whole server, tools' processes, their authors' own tests; mock: nothing

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

const ownTests = {
  python: ['python3', '-m', 'unittest'],
  node: ['node', '--test'],
  bash: ['bash', 'test.sh'],
} as const;

it.each(['python', 'node', 'bash'] as const)(
  'a tool in %s is created with a test that passes, and answers at the desk',
  async (template) => {
    const name = `a-${template}-tool`;
    const said = await ok(cli.run('tool', 'create', name, '--template', template));
    expect(said).toContain(`toolkeeper tool register ${name}`);
    expect(readdirSync(join(desk, name))).toEqual(expect.arrayContaining(['README.md', 'tool.json']));
    const [command, ...args] = ownTests[template];
    const tested = spawnSync(command, args, { cwd: join(desk, name), encoding: 'utf8' });
    expect([tested.status, tested.stderr]).toEqual([0, expect.any(String)]);

    const dev = await ok(cli.runWith('{"query":"x","limit":1}\n', 'tool', 'dev', name));
    expect(dev).toMatch(/^→ +\{"jsonrpc":"2.0","id":"0","method":"initialize"/);
    expect(dev).toMatch(/^← +.*"count": ?1/m);
    const wrong = await cli.runWith('{"limit":1}\n', 'tool', 'dev', name);
    expect([wrong.code, wrong.stdout]).toEqual([
      1,
      expect.stringContaining("must have required property 'query'"),
    ]);
  },
);

it('a changed file starts the tool at the desk anew, with the last input', async () => {
  await ok(cli.run('tool', 'create', 'changing', '-t', 'bash'));
  const child = cli.start('tool', 'dev', 'changing');
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  child.stdin.write('{"query":"x","limit":1}\n');
  await until(() => said.includes('"title":"Result 1 for x"'), { what: 'the first answer' });
  cli.edit('changing/tool.sh', 'Result $number for', 'Finding $number of');
  await until(() => said.includes('"title":"Finding 1 of x"'), { what: 'the answer of the changed tool' });
  expect(said).toContain('tool.sh has changed');
  child.stdin.end();
  await until(() => child.exitCode === 0, { what: 'the end' });
});

it('a tool is taken out of use, and back', async () => {
  const name = 'resting';
  await tk.register(name);
  expect(await ok(cli.run('tool', 'disable', name))).toMatch(/^status: +inactive$/m);
  expect((await cli.run('tool', 'call', name)).stderr).toContain('tool_not_found');
  expect(await ok(cli.run('tool', 'enable', name))).toMatch(/^status: +active$/m);
});

it('a log is followed', async () => {
  await tk.register('followed', { keepAlive: true });
  await tk.call('followed').expect(200);
  const child = cli.start('tool', 'logs', 'followed', '--follow', '--json');
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await until(() => said.includes('"spawn"'), { what: 'what was logged before' });
  await tk.http.post('/api/v1/custom-tools/followed/disable').expect(200);
  await until(() => said.includes('"terminate"'), { what: 'what is logged now' });
  child.kill('SIGKILL');
});

it('playbooks are imported and found', async () => {
  const file = join(desk, 'calm.yaml');
  const playbook = {
    ...{ playbook_id: 'retry-storm-calm', version: '1.0.0', name: 'Calm a storm of retries' },
    description: 'Clients repeat what fails and keep a service down that has recovered. Caps their retries.',
    ...{ labels: { environment: '*' }, content: 'steps: []' },
  };
  writeFileSync(file, JSON.stringify(playbook));
  expect(await ok(cli.run('playbook', 'import', file))).toContain('1 stored, 0 known already');
  expect(await ok(cli.run('playbook', 'import', desk))).toContain('0 stored, 1 known already');
  expect(await ok(cli.run('playbook', 'search', 'storm', 'of', 'retries'))).toMatch(
    /^\d\.\d\d +retry-storm-calm/m,
  );
  writeFileSync(file, JSON.stringify({ ...playbook, description: 'Another one.' }));
  const refused = await cli.run('playbook', 'import', file);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('conflict')]);
});

it('a key is made, opens what it may, and is revoked', async () => {
  const made = await ok(cli.run('key', 'create', 'on-call', '--tool', 'get_*', '--rate', '100/minute'));
  expect(made).toMatch(/^tk_\S+\n$/);
  const holder = new CommandLine({ TOOLKEEPER_KEY: made.trim(), TOOLKEEPER_URL: tk.url }, desk);
  expect(await ok(holder.run('tool', 'call', 'get_playbooks', '{"query":"storm"}'))).toContain('playbooks');
  expect((await holder.run('key', 'list')).stderr).toContain('forbidden');
  const [{ id }] = JSON.parse(await ok(cli.run('key', 'list', '--json')));
  await ok(cli.run('key', 'revoke', id));
  expect((await cli.run('key', 'create', 'x', '--rate', 'often')).code).toBe(2);
  await until(async () => (await holder.run('tool', 'list')).stderr.includes('unauthorized'), {
    what: 'the refusal of the revoked key',
  });
});

it('the doctor says what a running server is like, and what its tools may touch', async () => {
  const touched = /^Network: none.*\n +Reads: .*\n +Writes: a private temporary folder of 64 MB/;
  const findings = JSON.parse(await ok(cli.run('doctor', '--json')));
  expect(findings).toEqual(
    expect.arrayContaining([
      { what: 'server', state: 'ok', found: `${tk.url} is ready` },
      { what: 'key', state: 'ok', found: 'the server knows it' },
      { what: 'database', state: 'ok', found: expect.stringMatching(/^up/) },
      expect.objectContaining({ what: 'sandbox', found: expect.stringMatching(/^tier \d of 3/) }),
      expect.objectContaining({ what: 'python3', state: 'ok' }),
      expect.objectContaining({
        what: expect.stringMatching(/^tool /),
        found: expect.stringMatching(touched),
      }),
    ]),
  );
});

it('words are completed: commands, options, tools', async () => {
  const complete = async (...words: string[]): Promise<string[]> =>
    (await ok(cli.run('complete', '--', ...words))).split('\n').filter(Boolean);
  expect(await complete('tool', 're')).toEqual(['register', 'revisions']);
  expect(await complete('tool', 'call', 'get_p')).toEqual(['get_playbooks']);
  expect(await complete('tool', 'logs', '--fo')).toEqual(['--follow']);
  expect(await complete('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  expect(await complete('tool', 'call', '--timeout', '9', 'get_p')).toEqual(['get_playbooks']);
  expect(await complete('tool', 'create', '--template', 'p')).toEqual(['python']);
  expect(await complete('key', 'create', 'get_p')).toEqual([]);
  const script = await ok(cli.run('completion', 'bash'));
  expect(spawnSync('bash', ['-n'], { input: script }).status).toBe(0);
});
