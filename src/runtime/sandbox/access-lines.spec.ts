import { accessLines, effectiveSandbox, noSandbox } from './enforcement.js';
import { resolvePolicy, type SandboxDemands } from './sandbox-policy.js';
import type { HostAbilities } from './sandbox.types.js';

const defaults = { memoryMB: 512, processes: 64, temporaryMB: 64 };
const missing = { bubblewrap: 'no bwrap', launcher: 'no launcher', socat: 'no socat', cgroup: 'no cgroup' };
const group = { version: 2, path: '/sys/fs/cgroup/x' } as const;
const host = { countsProcesses: true, cgroups: {}, missing };
const tiers: readonly HostAbilities[] = [
  host,
  { ...host, launcher: '/launcher' },
  { ...host, launcher: '/launcher', bubblewrap: '/bwrap', socat: '/socat' },
  {
    ...{ ...host, launcher: '/launcher', bubblewrap: '/bwrap', socat: '/socat' },
    cgroups: { memory: group, pids: group, cpu: group },
  },
];
const facts = {
  ...{ ownPath: '/srv/tools/crm', url: undefined, variables: ['CRM_TOKEN', 'PATH'] },
  ...{ timeoutMs: 30_000, maxOutputBytes: 4_194_304 },
};

function lineOf(demands: SandboxDemands, tier: number, what: string): string | undefined {
  const policy = resolvePolicy(demands, defaults);
  const effective = { ...effectiveSandbox(policy, tiers[tier]!), runsAs: { uid: 1_900_000_010 } };
  return accessLines(policy, effective, facts).find((line) => line.startsWith(`${what}: `));
}

describe('what a tool may touch', () => {
  it.each<[string, SandboxDemands, string, string]>([
    ['no grant', {}, 'Network', 'none'],
    ['a network', { allowNetwork: true }, 'Network', 'all hosts and ports'],
    ['a network that is denied', { allowNetwork: false, canNetwork: true }, 'Network', 'none'],
    ['hosts', { allowedHosts: ['a.example', 'db:5432'] }, 'Network', 'a.example:80, a.example:443, db:5432'],
    ['an IPv6 address', { allowedHosts: ['::1', '[::1]:81'] }, 'Network', '[::1]:80, [::1]:443, [::1]:81'],
    ['no hosts', { allowedHosts: [], allowNetwork: true }, 'Network', 'none'],
    ['no grant', {}, 'Reads', '/srv/tools/crm, the programs and libraries of the system'],
    [
      'a path',
      { allowedPaths: ['/srv/data'] },
      'Reads',
      '/srv/tools/crm, /srv/data, the programs and libraries of the system',
    ],
    [
      'a path it may not read',
      { allowedPaths: ['/srv/data'], canReadFiles: false },
      'Reads',
      '/srv/tools/crm, the programs and libraries of the system',
    ],
    ['a path', { allowedPaths: ['/srv/data'] }, 'Writes', 'a private temporary folder of 64 MB'],
    [
      'a path to write',
      { allowedPaths: ['/srv/data'], canWriteFiles: true },
      'Writes',
      'a private temporary folder of 64 MB, /srv/data',
    ],
    [
      ...(['no path to write', { canWriteFiles: true }, 'Writes'] as const),
      'a private temporary folder of 64 MB (opens nothing by itself: name what may be read or written in sandbox.allowedPaths)',
    ],
    ['no grant', {}, 'Programs', 'those of the system'],
    ['no programs', { canExecuteCommands: false }, 'Programs', 'only its interpreter'],
    ['no grant', {}, 'Variables', 'CRM_TOKEN, PATH'],
    ['no grant', {}, 'User', 'uid 1900000010'],
    ['no grant', {}, 'Memory', '512 MB'],
    ['a limit', { maxMemoryMB: 64 }, 'Memory', '64 MB'],
    ['no grant', {}, 'Processor', 'no limit'],
    ['a limit', { maxCpuPercent: 50 }, 'Processor', '50 % of a core'],
    ['no grant', {}, 'Processes', '64, with threads'],
    ['no grant', {}, 'Time of a call', '30 s'],
    ['no grant', {}, 'Output of a call', '4 MB'],
    ['no grant', {}, 'Sandbox', 'tier 3 of 3'],
  ])('with %s: %j gives %s: %s', (_, demands, what, value) => {
    const note = what === 'Programs' ? / \(not started as a program.*/ : /$/;
    expect(lineOf(demands, 3, what)?.replace(note, '')).toBe(`${what}: ${value}`);
  });

  it.each<[string, number, SandboxDemands, RegExp | undefined]>([
    [
      'Network',
      0,
      {},
      /NOT ENFORCED HERE: it reaches every host and port \(needs bubblewrap or the launcher/,
    ],
    ['Network', 1, {}, undefined],
    ['Network', 0, { allowNetwork: true }, undefined],
    [
      'Network',
      1,
      { allowedHosts: ['a.example'] },
      /NOT ENFORCED HERE: it reaches every host and port \(needs bubblewrap: no bwrap/,
    ],
    ['Network', 2, { allowedHosts: ['a.example'] }, undefined],
    ['Reads', 0, {}, /it reads all that its user may read/],
    ['Reads', 2, {}, undefined],
    ['Writes', 0, {}, /it writes all that its user may write/],
    ["Server's data directory", 0, {}, /it can read the admin key/],
    ["Server's data directory", 1, {}, undefined],
    ['Memory', 0, {}, /it may use all of this host/],
    ['Processes', 1, {}, /it may start all that its user may/],
    ['Processor', 2, { maxCpuPercent: 50 }, /it may use all cores/],
    ['Processor', 0, {}, undefined],
    ['Variables', 0, {}, undefined],
    ['Time of a call', 0, {}, undefined],
  ])('%s in tier %i, asked for %j', (what, tier, demands, note) => {
    const line = lineOf(demands, tier, what);
    if (note) expect(line).toMatch(note);
    else expect(line).not.toContain('NOT ENFORCED');
  });

  it('says how far a limit holds', () => {
    expect(lineOf({}, 1, 'Memory')).toMatch(/^Memory: 512 MB \(measured every 250 ms/);
  });

  it('never claims anything of what runs elsewhere', () => {
    const policy = resolvePolicy({}, defaults);
    const url = 'https://mcp.example/x?key=1';
    expect(accessLines(policy, noSandbox(policy, 'off'), { ...facts, url })).toEqual([
      'Runs at: mcp.example; nothing limits what it touches there',
      'Time of a call: 30 s',
      'Output of a call: 4 MB',
    ]);
  });
});
