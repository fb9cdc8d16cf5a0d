import { bubblewrapCommand, holdCommand, launcherCommand } from './command-prefixes.js';
import { covers, mountsFor } from './mounts.js';
import { resolvePolicy, type SandboxDemands } from './sandbox-policy.js';

const system = { read: ['/etc/ssl/certs'], run: ['/usr'], links: { '/bin': 'usr/bin' } };
const nothing = { own: [], run: [], read: [], allowed: [], manifests: [], links: {} };
const policy = (demands: SandboxDemands = {}) =>
  resolvePolicy(demands, { memoryMB: 512, processes: 64, temporaryMB: 64 });
const writes = policy({ allowedPaths: ['/data'], canWriteFiles: true });

describe('mountsFor', () => {
  it('puts parents first, so that the own directory stays read-only in a writable one', () => {
    const files = { ...nothing, own: ['/data/tool'], allowed: ['/data'] };
    const { mounts } = mountsFor(writes, files, system, []);
    expect(mounts).toEqual([
      { path: '/data', access: 'rw' },
      { path: '/data/tool', access: 'rx' },
      { path: '/etc/ssl/certs', access: 'ro' },
      { path: '/usr', access: 'rx' },
    ]);
  });

  it('an own directory that is listed itself is writable', () => {
    const { mounts } = mountsFor(writes, { ...nothing, own: ['/data'], allowed: ['/data'] }, system, []);
    expect(mounts).toContainEqual({ path: '/data', access: 'rw' });
  });

  it("hides the gateway's own directories and the services' sockets from who reads all", () => {
    const { mounts } = mountsFor(policy(), { ...nothing, allowed: ['/'] }, system, ['/srv/keeper']);
    expect(mounts).toContainEqual({ path: '/srv/keeper', access: 'masked' });
    expect(mounts).toContainEqual({ path: '/run', access: 'masked' });
    const { mounts: narrow } = mountsFor(policy(), { ...nothing, allowed: ['/srv/other'] }, system, [
      '/srv/keeper',
    ]);
    expect(narrow.filter(({ access }) => access === 'masked')).toEqual([]);
  });

  it('shows package.json files above the own directory, but takes none out of an allowed path', () => {
    const files = { ...nothing, own: ['/data/a/tool'], manifests: ['/data/a/package.json', '/package.json'] };
    const shown = (allowed: string[]) => mountsFor(writes, { ...files, allowed }, system, []).mounts;
    expect(shown([])).toContainEqual({ path: '/data/a/package.json', access: 'ro' });
    expect(shown(['/data']).filter(({ path }) => path.endsWith('package.json'))).toEqual([
      { path: '/package.json', access: 'ro' },
    ]);
  });

  it('makes a link only where nothing stands', () => {
    const files = {
      ...nothing,
      own: ['/real/tool'],
      links: { '/shown/tool': '/real/tool', '/usr/bin/x': '/y' },
    };
    const { links } = mountsFor(policy(), files, system, []);
    expect([...links]).toEqual([
      ['/bin', 'usr/bin'],
      ['/shown/tool', '/real/tool'],
    ]);
  });
});

it.each([
  ['/a', '/a', true],
  ['/a', '/a/b', true],
  ['/', '/a', true],
  ['/a', '/ab', false],
  ['/a/b', '/a', false],
])('covers(%s, %s) is %s', (directory, path, expected) => {
  expect(covers(directory, path)).toBe(expected);
});

describe('command lines', () => {
  const mounts = mountsFor(writes, { ...nothing, own: ['/tmp/tool'], allowed: ['/data'] }, system, []);

  it('bubblewrap: the own directory below /tmp stands on top of the private one', () => {
    const line = bubblewrapCommand({
      program: 'bwrap',
      mounts,
      network: false,
      temporaryBytes: 1024,
      cwd: '/tmp/tool',
    }).join(' ');
    expect(line).toMatch(/--size 1024 --perms 1777 --tmpfs \/tmp --ro-bind \/tmp\/tool \/tmp\/tool/);
    expect(line).toContain('--bind /data /data');
    expect(line).toMatch(/--remount-ro \/ --chdir \/tmp\/tool --$/);
    expect(line).toContain(
      '--unshare-user --unshare-all --disable-userns --die-with-parent --new-session --cap-drop ALL',
    );
    expect(line).not.toContain('--share-net');
  });

  it('bubblewrap: the network is shared only when granted, and a host root keeps its rights', () => {
    const root = mountsFor(policy(), { ...nothing, allowed: ['/'] }, system, []);
    const line = bubblewrapCommand({
      program: 'bwrap',
      mounts: root,
      network: true,
      temporaryBytes: 1,
      cwd: '/',
    });
    expect(line).toContain('--share-net');
    expect(line.join(' ')).not.toMatch(/--remount-ro \/ /);
  });

  it.each([
    ['what the directory around it shows alike is not mounted again', ['/a', '/a/b', '/a/b/c'], [], ['/a']],
    [
      'what is writable in what is not, or the other way round',
      ['/a', '/a/b/c'],
      ['/a/b'],
      ['/a', '/a/b', '/a/b/c'],
    ],
    ['what a private directory hides', ['/', '/tmp/a', '/tmp/a/b', '/dev/x'], [], ['/', '/dev/x', '/tmp/a']],
  ])('bubblewrap: %s', (_what, read, write, mounts) => {
    const granted = [
      ...read.map((path) => ({ path, access: 'rx' as const })),
      ...write.map((path) => ({ path, access: 'rw' as const })),
    ];
    const line = bubblewrapCommand({
      program: 'bwrap',
      mounts: { mounts: granted, links: new Map() },
      network: false,
      temporaryBytes: 1,
      cwd: '/',
    });
    expect(line.filter((_word, at) => /^--(ro-)?bind$/.test(line[at - 1] ?? ''))).toEqual(mounts);
  });

  it('launcher: alone it stands in for namespaces; inside of them it leaves sockets and modes to them', () => {
    const common = { program: 'l', mounts, more: [], limits: { data: 7 } };
    const settings = { ...common, keepModes: true };
    expect(launcherCommand({ ...settings, network: false, alone: true }).join(' ')).toBe(
      'l --seccomp --pdeathsig --no-detach --no-net --no-chmod --rw /data --ro /etc/ssl/certs --rx /tmp/tool --rx /usr --rlimit data=7 --rlimit core=0 --',
    );
    const withNetwork = launcherCommand({ ...settings, network: true, alone: true });
    expect(withNetwork.slice(0, 6).join(' ')).toBe(
      'l --seccomp --pdeathsig --no-detach --no-unix --no-chmod',
    );
    const asAnother = launcherCommand({ ...common, keepModes: false, network: false, alone: true, uid: 7 });
    expect(asAnother.slice(0, 7).join(' ')).toBe('l --seccomp --pdeathsig --no-detach --no-net --user 7:7');
    expect(holdCommand('l', mounts, 7).slice(0, 4)).toEqual(['l', '--user', '7:7', '--pdeathsig']);
    for (const network of [true, false]) {
      const inside = launcherCommand({ ...settings, keepModes: false, network, alone: false });
      expect(inside.slice(0, 5)).toEqual(['l', '--seccomp', '--held', '4', '--rw']);
    }
  });

  it('launcher: what stands before bubblewrap holds the same paths in the same order, but for the private one', () => {
    const allowed = ['/data', '/tmp', '/tmp/deeper'];
    const given = mountsFor(writes, { ...nothing, own: ['/tmp/tool'], allowed }, system, ['/data/secret']);
    const held = holdCommand('l', given);
    const paths = ['/data', '/etc/ssl/certs', '/tmp/deeper', '/tmp/tool', '/usr'];
    expect(held).toEqual(['l', ...paths.flatMap((path) => ['--hold', path]), '--']);
    const inside = launcherCommand({
      ...{ program: 'l', mounts: given, more: [], limits: {} },
      ...{ network: false, alone: false, keepModes: false },
    });
    const granted = inside.filter((_word, at) => /^--r[owx]$/.test(inside[at - 1] ?? ''));
    expect({ granted, held: inside[inside.indexOf('--held') + 1] }).toEqual({ granted: paths, held: '5' });
  });
});
