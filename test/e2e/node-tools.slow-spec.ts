import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { makeTemplateProject, templateFolder } from '../support/template-project.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: the server in every tier that this host has, Node as the tool's interpreter, projects as npm knows them; mock:
// nothing

/** A tool that answers the value of `words`, whatever it is asked. */
const answering = (words: string): string => `
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const self = { name: 'author', description: 'Answers', version: '1.0.0', inputSchema: {} };
  const result = method === 'initialize' ? self : method === 'execute' ? ${words} : {};
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
});
`;
const asModule = `import { createInterface } from 'node:readline';\nimport words from '#words';\n${answering('words')}`;
/** Answers what it reads of each of `paths`, or the error's code. */
const reader = `
const { createInterface } = require('readline');
const { readFileSync } = require('fs');
const read = (path) => { try { return readFileSync(path, 'utf8'); } catch (error) { return error.code; } };
${answering('params.input.paths.map(read)')}`;

const templateProject = makeTemplateProject();
const folder = makeTestFolder();
afterAll(() => {
  for (const each of [templateProject, folder]) rmSync(each, { recursive: true, force: true });
});

function write(path: string, content: string): string {
  const at = join(folder, path);
  mkdirSync(dirname(at), { recursive: true });
  writeFileSync(at, content);
  return at;
}

const npmProject = { name: 'an-npm-project', type: 'module', imports: { '#words': './src/words.js' } };

describe.each([
  ['without a sandbox', { SANDBOX: 'off' }],
  ['with tier 1 at most', { SANDBOX_MAX_TIER: '1' }],
  ['with the best sandbox of this host', {}],
])('a tool of Node, %s', (_which, variables) => {
  let tk: TestApp;
  beforeAll(async () => {
    tk = await startApp({ SANDBOX: 'best-effort', ...variables });
  });
  afterAll(() => tk.close());

  /** @returns the answer to the registration, or the outcome of a first call */
  const outcomeOf = async (name: string, script: string): Promise<Json> => {
    const start = { name, command: 'node', args: [script], description: name };
    const { status, body } = await tk.http.post('/api/v1/custom-tools').send(start);
    return status === 201 ? (await tk.call(name, { query: 'x' }).expect(200)).body : body;
  };

  it('registers unchanged in the folder of installed tools, below the package.json of the server', async () => {
    expect(await outcomeOf('installed', join(templateProject, templateFolder, 'tool.js'))).toMatchObject({
      result: { success: true, data: [{ title: 'Result for x' }] },
    });
  });

  it('may be written as a module there as well', async () => {
    const script = join(templateProject, 'tools/installed/module/tool.js');
    mkdirSync(dirname(script), { recursive: true });
    writeFileSync(script, `import { createInterface } from 'node:readline';\n${answering("'a module'")}`);
    expect(await outcomeOf('module', script)).toMatchObject({ result: 'a module' });
  });

  it('has its script in src/ of an npm project, which says how it is read', async () => {
    write('npm/package.json', JSON.stringify(npmProject));
    write('npm/src/words.js', `export default 'of its project';\n`);
    expect(await outcomeOf('in_src', write('npm/src/tool.js', asModule))).toMatchObject({
      result: 'of its project',
    });
  });

  /** Calls a reader; what it reads of each path is asked only where its sandbox holds paths back. */
  const expectReading = async (name: string, expected: Record<string, unknown>): Promise<void> => {
    const { body } = await tk.http.get(`/api/v1/custom-tools/${name}`).expect(200);
    const paths = Object.keys(expected);
    const { result } = (await tk.call(name, { paths }).expect(200)).body;
    expect(result).toEqual(paths.map(() => expect.any(String)));
    if (!body.effectiveSandbox.enforced.includes('allowedPaths')) return;
    expect(result).toEqual(Object.values(expected));
  };
  const kept = expect.stringMatching(/^(EACCES|ENOENT)$/);

  it('reads package.json of the folders above its own, and nothing else there', async () => {
    const manifest = write('above/package.json', '{"name":"above"}');
    const others = ['above/secret', 'above/beside/package.json', 'above/deep/package.json.bak'].map((path) =>
      write(path, 'a secret'),
    );
    await tk.register('reading', { args: [write('above/deep/tool/tool.js', reader)] });
    await expectReading('reading', {
      [manifest]: '{"name":"above"}',
      ...Object.fromEntries(others.map((path) => [path, kept])),
    });
  });

  it('runs again without a package.json that was there, once it is enabled', async () => {
    const manifest = write('passing/package.json', '{}');
    const path = '/api/v1/custom-tools/passing';
    await tk.register('passing', { args: [write('passing/src/tool.js', reader)] });
    const { enforced } = (await tk.http.get(path).expect(200)).body.effectiveSandbox;
    rmSync(manifest);
    if (enforced.includes('allowedPaths')) {
      // A process may stand ready from before.
      for (let n = 0; n < 2; n++) await tk.call('passing', { paths: [] });
      await until(async () => (await tk.http.get(path)).body.status === 'error', {
        what: 'the status error',
      });
    }
    await tk.http.post(`${path}/enable`).expect(200, /"status":"active"/);
    await tk.call('passing', { paths: [] }).expect(200, /"status":"success"/);
  });

  it('reads no other file that a package.json above it leads to', async () => {
    const secret = write('linked/secret', 'a secret');
    const script = write('linked/project/src/tool.js', reader);
    write('linked/project/src/package.json', '{}');
    const link = join(folder, 'linked/project/package.json');
    rmSync(link, { force: true });
    symlinkSync(secret, link);
    await tk.register('linked', { args: [script] });
    await expectReading('linked', { [secret]: kept, [link]: kept });
  });

  it('reads no other file that a package.json which it may write leads to later', async () => {
    const secret = write('writable/secret', 'a secret');
    const script = write('writable/project/src/tool.js', reader);
    write('writable/project/src/package.json', '{}');
    const manifest = join(folder, 'writable/project/package.json');
    rmSync(manifest, { force: true });
    write('writable/project/package.json', '{}');
    await tk.register('writable', {
      args: [script],
      sandbox: { allowedPaths: [dirname(manifest)] },
      permissions: { canWriteFiles: true },
    });
    rmSync(manifest);
    symlinkSync(secret, manifest);
    await expectReading('writable', { [secret]: kept });
  });
});
