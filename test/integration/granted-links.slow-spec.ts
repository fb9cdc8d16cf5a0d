import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: the server, its sandbox of every tier that this host has, tools that put a link where a granted path was

const hostile = join(__dirname, '..', 'fixtures', 'hostile', 'hostile.py');
const tiers = spawnSync('bwrap', ['--version']).status === 0 ? [0, 1, 2] : [0, 1];
const folder = realpathSync(makeTestFolder());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(tiers)('with tier %i at most', (maxTier) => {
  let tk: TestApp;
  beforeAll(async () => {
    tk = await startApp({
      SANDBOX_MAX_TIER: String(maxTier),
      SANDBOX: 'best-effort',
      PATH: `/usr/bin:${process.env['PATH']}`,
    });
  });
  afterAll(() => tk.close());

  /** Folders of a test: `shared` with `granted` below it, and `outside`, which nobody is granted. */
  function places(name: string): { shared: string; granted: string; outside: string } {
    const root = join(folder, `${name}-${maxTier}`);
    const [shared, outside] = [join(root, 'shared'), join(root, 'outside')];
    mkdirSync(join(shared, 'granted'), { recursive: true });
    mkdirSync(outside);
    writeFileSync(join(outside, 'file'), 'a secret');
    writeFileSync(join(shared, 'granted', 'file'), 'no secret');
    return { shared, granted: join(shared, 'granted'), outside };
  }

  async function register(name: string, allowedPaths: string[]): Promise<number> {
    await tk.register(name, {
      command: '/usr/bin/python3',
      args: [hostile],
      sandbox: { allowedPaths },
      permissions: { canWriteFiles: true },
      keepAlive: true,
      maxRetries: 0,
    });
    return (await tk.http.get(`/api/v1/custom-tools/${name}`).expect(200)).body.effectiveSandbox.tier;
  }

  const act = async (tool: string, input: object): Promise<Json> => (await tk.call(tool, input)).body;
  const done = { status: 'success', result: { done: true } };

  /** The link leads out only where nothing is held anyway, and the reason names the path elsewhere. */
  async function expectOutOfReach(
    tool: string,
    tier: number,
    granted: string,
    outside: string,
  ): Promise<void> {
    const read = await act(tool, { act: 'read', path: join(granted, 'file') });
    const write = await act(tool, { act: 'write', path: join(granted, 'written') });
    if (tier === 0) expect([read, write]).toMatchObject([done, done]);
    else {
      const reason = expect.stringContaining(`cannot grant ${granted}: a symbolic link stands in it now`);
      expect(read).toMatchObject({ status: 'error', error: { type: 'spawn_failed', message: reason } });
    }
    expect(existsSync(join(outside, 'written'))).toBe(tier === 0);
  }

  it('a tool that puts a link where its own granted path was does not start again', async () => {
    const { shared, granted, outside } = places('own');
    const tier = await register('swapper', [shared, granted]);
    expect(await act('swapper', { act: 'read', path: join(granted, 'file') })).toMatchObject(done);
    expect(await act('swapper', { act: 'swap', path: granted, target: outside })).toMatchObject(done);
    await act('swapper', { act: 'die' });
    await expectOutOfReach('swapper', tier, granted, outside);
  });

  it("nor does one whose path another tool's link replaces, until it is what it was", async () => {
    const { shared, granted, outside } = places('other');
    await register('mover', [shared]);
    const tier = await register('victim', [granted]);
    expect(await act('victim', { act: 'read', path: join(granted, 'file') })).toMatchObject(done);
    expect(await act('mover', { act: 'swap', path: granted, target: outside })).toMatchObject(done);
    await act('victim', { act: 'die' });
    await expectOutOfReach('victim', tier, granted, outside);
  });
});
