import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { upToTier } from '../../src/runtime/sandbox/enforcement.js';
import { probeHost } from '../../src/runtime/sandbox/host-probe.js';
import { Sandbox } from '../../src/runtime/sandbox/sandbox.js';
import type { HostAbilities } from '../../src/runtime/sandbox/sandbox.types.js';
import { LauncherLab, self } from '../support/launcher-lab.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: the sandbox's command lines, started hundreds of times while a link and the granted folder change places

const starts = 400;
const folder = realpathSync(makeTestFolder());
const [granted, link, outside] = ['granted', 'link', 'outside'].map((name) => join(folder, name)) as [
  string,
  string,
  string,
];
const exchange = `
import ctypes, sys
libc = ctypes.CDLL(None)
print("begun", flush=True)
while True:
    libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)
`;
let host: HostAbilities;
let lab: LauncherLab;

beforeAll(async () => {
  lab = new LauncherLab(self);
  host = await probeHost({ path: '/usr/bin:/bin', launcher: lab.launcher, cgroup: 'off', firstUid: 70_000 });
});
// Each race ends with either of the two in the other's place.
beforeEach(() => {
  for (const path of [granted, link, outside]) rmSync(path, { recursive: true, force: true });
  mkdirSync(granted);
  mkdirSync(outside);
  writeFileSync(join(granted, 'file'), 'granted');
  writeFileSync(join(outside, 'file'), 'a secret');
  symlinkSync(outside, link);
});
afterAll(() => {
  lab.close();
  rmSync(folder, { recursive: true, force: true });
});

/** What so many starts read under the granted path, while its neighbour changes places with it. */
async function race(abilities: HostAbilities): Promise<ReadonlyMap<string, number>> {
  const defaults = { memoryMB: 512, processes: 64, temporaryMB: 64 };
  const grants = { secrets: [], readOnly: [], grantable: [folder] };
  const sandbox = new Sandbox({ enabled: true, mode: 'best-effort', defaults, abilities, uid: 1, ...grants });
  const path = join(granted, 'file');
  const env = { PATH: '/usr/bin:/bin' };
  const reader = { command: '/bin/cat', args: [path], cwd: '/', env };
  const demands = { allowedPaths: [granted], canWriteFiles: true };
  const confined = await sandbox.confine(demands, reader, undefined);
  const exchanger = spawn('/usr/bin/python3', ['-c', exchange, granted, link]);
  await once(exchanger.stdout, 'data');
  const seen = new Map<string, number>();
  try {
    for (let n = 0; n < starts; n++) {
      const { stdout, stderr } = await lab.run(
        [confined.command.command, ...confined.command.args],
        confined.command.env,
      );
      const what = stdout || stderr.trim();
      seen.set(what, (seen.get(what) ?? 0) + 1);
    }
  } finally {
    exchanger.kill('SIGKILL');
    await once(exchanger, 'exit');
    await confined.dispose();
  }
  return seen;
}

it('tier 1: what is read is what was granted, or nothing', async () => {
  const seen = await race(upToTier(host, 1));
  expect(seen.get('a secret')).toBe(undefined);
  expect(seen.get('granted')).toBeGreaterThan(0);
  expect([...seen.keys()].join('\n')).toContain('a symbolic link stands in it now');
});

describe('tier 2, where bubblewrap mounts by name', () => {
  const sayNone = () => void process.stdout.write('No bubblewrap: no tier 2\n');

  it('is no less strict', async () => {
    if (host.bubblewrap === undefined) return sayNone();
    const seen = await race(upToTier(host, 2));
    expect(seen.get('a secret')).toBe(undefined);
    expect(seen.get('granted')).toBeGreaterThan(0);
    expect([...seen.keys()].join('\n')).toContain('something else stands there now');
  });

  it('would be led astray without the launcher', async () => {
    if (host.bubblewrap === undefined) return sayNone();
    const { launcher: _none, ...without } = upToTier(host, 2);
    expect((await race(without)).get('a secret')).toBeGreaterThan(0);
  });
});
