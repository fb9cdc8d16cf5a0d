import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { startApp, type TestApp } from '../support/app.js';
import { archiveOf, tarOf } from '../support/bundle.js';
import { CommandLine, ok } from '../support/command-line.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: npm and pip with packages of files, the command line, a server, tools' processes; mock: nothing

let tk: TestApp;
let cli: CommandLine;
const folder = makeTestFolder();
beforeAll(async () => {
  tk = await startApp();
  const offline = { npm_config_offline: 'true', PIP_NO_INDEX: '1', npm_config_cache: join(folder, '.cache') };
  cli = new CommandLine(
    { TOOLKEEPER_URL: tk.url, TOOLKEEPER_KEY: tk.key.authorization.slice(7), ...offline },
    folder,
  );
});
afterAll(async () => {
  await tk.close();
  rmSync(folder, { recursive: true, force: true });
});

const written = (name: string, files: Readonly<Record<string, string | Buffer>>): void => {
  mkdirSync(join(folder, name));
  for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, name, file), content);
};
const reply = { name: 'x', description: 'says a word', version: '1.0.0', inputSchema: { type: 'object' } };

function npmTool(): void {
  const own = { name: 'tool', version: '1.0.0', dependencies: { greeting: 'file:greeting.tgz' } };
  const installed = { version: '1.0.0', resolved: 'file:greeting.tgz' };
  const packages = { '': own, 'node_modules/greeting': installed };
  // A script that would run on the author's machine.
  const scripts = { postinstall: 'touch ran' };
  const greeting = JSON.stringify({ name: 'greeting', version: '1.0.0', main: 'index.js', scripts });
  written('with_npm', {
    'package.json': JSON.stringify(own),
    'package-lock.json': JSON.stringify({ ...own, lockfileVersion: 3, packages }),
    'greeting.tgz': archiveOf([
      { path: 'package/package.json', content: greeting },
      { path: 'package/index.js', content: `module.exports = 'from npm';` },
    ]),
    'tool.json': JSON.stringify({ name: 'with_npm', command: 'node', args: ['tool.mjs'] }),
    'tool.mjs': `
import word from 'greeting';
for await (const line of (await import('node:readline')).createInterface({ input: process.stdin }))
  console.log(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, result: { ...${JSON.stringify(reply)}, word } }));
`,
  });
}

function pipTool(): void {
  const wheel = 'greeting-1.0.0-py3-none-any.whl';
  written('with_pip', {
    'requirements.txt': `./${wheel}\n`,
    'tool.json': JSON.stringify({ name: 'with_pip', command: 'python3', args: ['tool.py'] }),
    'tool.py': `
import json, sys
from greeting import WORD
for line in sys.stdin:
    result = dict(json.loads(${JSON.stringify(JSON.stringify(reply))}), word=WORD)
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": result}), flush=True)
`,
  });
  const zip = `
import zipfile
info = 'greeting-1.0.0.dist-info/'
with zipfile.ZipFile('${wheel}', 'w') as wheel:
    wheel.writestr('greeting.py', "WORD = 'from pip'")
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: greeting\\nVersion: 1.0.0\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'RECORD', '')
`;
  execFileSync('python3', ['-c', zip], { cwd: join(folder, 'with_pip') });
}

it.each<[string, () => void, string, string]>([
  ['with_npm', npmTool, 'node_modules', 'from npm'],
  ['with_pip', pipTool, 'site-packages', 'from pip'],
])('%s is refused without its packages, and runs with them', async (name, write, packages, word) => {
  write();
  const refused = await cli.run('tool', 'register', name);
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain(`there is no ${packages} beside it: \`toolkeeper tool bundle`);
  const bundled = await cli.run('tool', 'bundle', name);
  expect(bundled).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^\$ (npm ci|python3 -m pip install)/),
  });
  await ok(cli.run('tool', 'register', name));
  const { body } = await tk.call(name).expect(200);
  expect(body.result.word).toBe(word);
  const { body: files } = await tk.http.get(`/api/v1/custom-tools/${name}/bundle/files`).expect(200);
  const paths = files.data.map(({ path }: { path: string }) => path);
  expect(paths).toContainEqual(expect.stringContaining(`${packages}/`));
  expect(paths).not.toContainEqual(expect.stringMatching(/\bran$/));
});

it('says what the folder lacks, and how an installation failed', async () => {
  written('empty', {});
  expect(await cli.run('tool', 'bundle', 'empty')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('neither package.json nor requirements.txt'),
  });
  written('broken', { 'requirements.txt': './gone.whl\n' });
  expect(await cli.run('tool', 'bundle', 'broken')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/gone\.whl[^]*python3 ended with exit code 1/),
  });
});

it('a hundred thousand entries are given up early', async () => {
  const block = tarOf([{ path: 'x' }]).subarray(0, 512);
  const many = gzipSync(Buffer.concat([...Array<Buffer>(100_000).fill(block), Buffer.alloc(1_024)]));
  const names = archiveOf(
    Array.from({ length: 100_000 }, (_, n) => ({ path: `${n}`, type: 'Directory' as const })),
  );
  for (const archive of [many, names]) {
    const answer = await tk.http
      .post('/api/v1/custom-tools/many/bundle')
      .set('content-type', 'application/gzip')
      .send(archive)
      .expect(400);
    expect(answer.text).toMatch(/twice|more than 20000 files/);
  }
});
