import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fixtures } from '../support/app.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import type { Json } from '../support/json.js';
import { type ServerProcess, startServer } from '../support/server-process.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: the built server as a process, files, pipes, links, PostgreSQL, the tools' processes; mock: nothing

const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const echo = { command: 'bash', args: ['echo.sh'] };
const json = (tool: object): string => JSON.stringify(tool);
const secret = 'root:$6$salt$hash:20000:0:99999:7:::';

/** Every kind of `tool.json` that is none, and what the log says of it. */
const odd: readonly [folder: string, make: (path: string) => void, said: RegExp][] = [
  ['pipe', (path) => execFileSync('mkfifo', [path]), /is not a regular file/],
  ['folder', (path) => mkdirSync(path), /is not a regular file/],
  ['device', (path) => symlinkSync('/dev/zero', path), /is not a regular file/],
  [
    'huge',
    (path) => (writeFileSync(path, ''), truncateSync(path, 314_572_800)),
    /314572800 bytes, more than/,
  ],
  ['secret', (path) => symlinkSync(join(path, '../../../shadow'), path), /it is no JSON/],
  ['empty', (path) => writeFileSync(path, ''), /it is no JSON/],
  ['half', (path) => writeFileSync(path, '{"name": "half", "command": "ba'), /it is no JSON/],
  ['nul', (path) => writeFileSync(path, '{"name": "nu\0l"}'), /it is no JSON/],
  ['escaped_nul', (path) => writeFileSync(path, json({ ...echo, name: 'nu\0l' })), /name/],
  ['utf16', (path) => writeFileSync(path, json({ ...echo, name: 'utf16' }), 'utf16le'), /it is no JSON/],
  ['binary', (path) => writeFileSync(path, Buffer.alloc(4_096, 0xff)), /it is no JSON/],
  ['list', (path) => writeFileSync(path, json([echo])), /is not a known field/],
  ['nothing', (path) => writeFileSync(path, 'null'), /name/],
  ['unknown', (path) => writeFileSync(path, json({ ...echo, name: 'unknown', comand: 1 })), /comand/],
  ['types', (path) => writeFileSync(path, json({ name: 'types', command: 7, args: 'x' })), /command/],
  [
    'proto',
    (path) => writeFileSync(path, '{"name":"proto","command":"bash","__proto__":{"args":1}}'),
    /proto/,
  ],
  ['deep', (path) => writeFileSync(path, `{"name":"deep","command":"bash","metadata":${deep(9_000)}}`), /./],
  ['twice', (path) => writeFileSync(path, json({ ...echo, name: 'good' })), /registered by somebody else/],
];

describe('tool.json files that are none', () => {
  let folder: string;
  let db: TestDatabase;
  let server: ServerProcess | undefined;
  const install = (name: string, make: (path: string) => void): void => {
    const own = join(folder, 'tools', name);
    mkdirSync(own, { recursive: true });
    copyFileSync(join(fixtures, 'echo.sh'), join(own, 'echo.sh'));
    make(join(own, 'tool.json'));
  };
  const log = (): string => server?.log() ?? '';
  const named = async (): Promise<string[]> => {
    const answer = await fetch(`${server?.url}/api/v1/custom-tools`);
    const { data } = (await answer.json()) as { data: { name: string }[] };
    return data.map(({ name }) => name);
  };

  beforeAll(async () => {
    folder = makeTestFolder();
    writeFileSync(join(folder, 'shadow'), `${secret}\n`);
    // The first and the last in the order in which they are read.
    for (const name of ['a_good', 'zz_good']) {
      const tool = json({ ...echo, name: name === 'a_good' ? 'good' : name });
      install(name, (path) => writeFileSync(path, tool));
    }
    for (const [name, make] of odd) install(name, make);
    install('loop', (path) => symlinkSync(path, path));
    db = await createTestDatabase({ connect: false });
    server = await startServer({
      DATABASE_URL: db.url,
      TOOLKEEPER_DATA_DIR: join(folder, 'data'),
      CUSTOM_TOOLS_DIR: join(folder, 'tools'),
      LOG_LEVEL: 'info',
    });
  });
  afterAll(async () => {
    await server?.end('SIGKILL');
    await db.release();
    rmSync(folder, { recursive: true, force: true });
  });

  it('keep no other out, and the server becomes ready', async () => {
    await until(async () => (await fetch(`${server?.url}/readyz`)).status === 200, { what: 'readiness' });
    expect(await named()).toEqual(['good', 'zz_good']);
  });

  it.each(odd)('are named in the log with the reason: %s', (name, _make, reason) => {
    const lines = log()
      .split('\n')
      .filter((each) => each.startsWith('{'))
      .map((each): Json => JSON.parse(each));
    const line = lines.find(
      ({ file, msg }) => file?.endsWith(`/${name}/tool.json`) && /was not imported/.test(msg),
    );
    expect(line?.msg).toMatch(reason);
    expect(line.err === undefined ? line.reason : line.err.message).toEqual(expect.any(String));
  });

  it('show nothing of a file that they link to', () => {
    expect(log()).toContain('secret/tool.json was not imported: it is no JSON');
    for (let at = 0; at + 5 <= secret.length; at++) expect(log()).not.toContain(secret.slice(at, at + 5));
  });

  it('hold up neither what is installed later nor the end of the server', async () => {
    install('later_pipe', (path) => execFileSync('mkfifo', [path]));
    install('later', (path) => writeFileSync(path, json({ ...echo, name: 'later' })));
    await until(async () => (await named()).includes('later'), { what: 'the tool that came later' });
    await until(() => /later_pipe\/tool\.json was not imported/.test(log()), { what: 'the reason' });
    const asked = performance.now();
    expect(await server?.end('SIGTERM')).toBe(0);
    expect(performance.now() - asked).toBeLessThan(20_000);
  });
});
