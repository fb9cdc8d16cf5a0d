import { effectiveSandbox, noSandbox, tierOf, upToTier, withDescendantsEnded } from './enforcement.js';
import { resolvePolicy, type SandboxDemands } from './sandbox-policy.js';
import { type HostAbilities, sandboxFields } from './sandbox.types.js';

const group = { version: 2, path: '/sys/fs/cgroup/ours' } as const;
const full: HostAbilities = {
  bubblewrap: '/usr/bin/bwrap',
  launcher: '/launcher',
  socat: '/usr/bin/socat',
  countsProcesses: true,
  cgroups: { memory: group, pids: group, cpu: group },
  missing: {},
};
const policy = (demands: SandboxDemands = {}) =>
  resolvePolicy(demands, { memoryMB: 512, processes: 64, temporaryMB: 64 });
const everything = { allowedHosts: ['a.example'], maxCpuPercent: 50, canExecuteCommands: false };

describe('tiers', () => {
  it('are what is there', () => {
    expect([0, 1, 2, 3].map((tier) => tierOf(upToTier(full, tier as 0)))).toEqual([0, 1, 2, 3]);
  });

  it('a group for only some of the limits is not tier 3, but those hold', () => {
    const some = { ...full, cgroups: { cpu: group } };
    expect(tierOf(some)).toBe(2);
    expect(effectiveSandbox(policy(everything), some).enforced).toContain('maxCpuPercent');
  });
});

describe('effectiveSandbox', () => {
  it('has nothing left over in tier 3', () => {
    const { tier, notEnforced, notes } = effectiveSandbox(policy(everything), full);
    expect({ tier, notEnforced, notes: Object.keys(notes) }).toEqual({
      tier: 3,
      notEnforced: [],
      notes: ['canExecuteCommands', 'writableNotExecutable'],
    });
  });

  it('says for every restriction that does not hold why not', () => {
    for (const tier of [0, 1, 2] as const) {
      const { enforced, notEnforced, notes } = effectiveSandbox(policy(everything), upToTier(full, tier));
      expect(notEnforced).toContain('maxCpuPercent');
      for (const field of notEnforced) expect(notes[field]).toMatch(/^needs .*: .*SANDBOX_MAX_TIER/);
      expect(enforced).toEqual(expect.arrayContaining(['maxExecutionMs', 'allowedEnvironmentVars']));
    }
  });

  it('without socat there is no way to single hosts', () => {
    const { socat: _none, ...rest } = full;
    const host = { ...rest, missing: { socat: 'socat is not installed' } };
    expect(effectiveSandbox(policy(everything), host)).toMatchObject({
      notEnforced: ['allowedHosts'],
      notes: { allowedHosts: 'needs socat: socat is not installed' },
    });
  });

  it('without the launcher writable directories can be executed and system calls made', () => {
    const { launcher: _none, ...rest } = full;
    const host = { ...rest, missing: { launcher: 'gone' } };
    const { tier, notEnforced, notes } = effectiveSandbox(policy({ allowedPaths: ['/a'] }), host);
    expect([tier, notEnforced]).toEqual([2, ['writableNotExecutable', 'systemCalls']]);
    expect(notes.allowedPaths).toContain('link');
  });

  it.each([0, 1, 2, 3] as const)(
    'what a tool starts ends with it where its starter sees to that: tier %i',
    (tier) => {
      const before = effectiveSandbox(policy(), upToTier(full, tier));
      const after = withDescendantsEnded(before);
      expect(after.enforced).toContain('grandchildren');
      expect(after.notEnforced).not.toContain('grandchildren');
      expect(after.notes.grandchildren).toEqual(tier === 0 ? expect.stringContaining('poses as') : undefined);
      const others = (fields: readonly string[]) => fields.filter((field) => field !== 'grandchildren');
      expect(others(after.enforced)).toEqual(others(before.enforced));
      expect(others(after.notEnforced)).toEqual(others(before.notEnforced));
      const order = after.enforced.map((field) => sandboxFields.indexOf(field));
      expect(order).toEqual([...order].sort((a, b) => a - b));
    },
  );

  it('memory is looked at where there is no group', () => {
    const { notes, enforced } = effectiveSandbox(policy(), upToTier(full, 2));
    expect(enforced).toContain('maxMemoryMB');
    expect(notes.maxMemoryMB).toContain('every 250 ms');
  });
});

it('a sandbox that is off enforces the deadline and the environment alone', () => {
  expect(noSandbox(policy(), 'off')).toMatchObject({
    tier: 0,
    enforced: ['maxExecutionMs', 'allowedEnvironmentVars'],
  });
});
