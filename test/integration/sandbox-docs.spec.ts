import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/base/config/app-config.js';
import { effectiveSandbox, upToTier, withDescendantsEnded } from '../../src/runtime/sandbox/enforcement.js';
import { resolvePolicy } from '../../src/runtime/sandbox/sandbox-policy.js';
import { type HostAbilities, sandboxFields } from '../../src/runtime/sandbox/sandbox.types.js';

// real: docs/operate/sandbox.md, the code that decides what holds, the specs that test it; mock: a host with everything

const read = (path: string): string => readFileSync(join(__dirname, '../..', path), 'utf8');
const group = { version: 2, path: '/group' } as const;
const host: HostAbilities = {
  bubblewrap: '/bwrap',
  launcher: '/launcher',
  socat: '/socat',
  countsProcesses: false,
  cgroups: { memory: group, pids: group, cpu: group },
  missing: {},
};
const everything = resolvePolicy(
  {
    allowedHosts: ['a.example'],
    maxCpuPercent: 50,
    canExecuteCommands: false,
  },
  { memoryMB: 512, processes: 64, temporaryMB: 64 },
);
const nothing = resolvePolicy({ allowNetwork: false }, everything);
const rows = read('docs/operate/sandbox.md')
  .split('\n')
  .filter((line) => /^\| `.+` \| [●◐–] /.test(line))
  .map((line) => line.slice(2, -2).split(' | '))
  .flatMap(([fields = '', ...marks]) =>
    fields.split(', ').map((field) => ({ field: field.replaceAll('`', ''), marks })),
  );
const marksOf = new Map(rows.map(({ field, marks }) => [field, marks]));

/** The test of each field. */
const tests: Readonly<Record<(typeof sandboxFields)[number], string>> = {
  allowedPaths: 'reads a file outside',
  allowNetwork: 'connects over TCP',
  allowedHosts: 'fetches from a host that is not allowed',
  maxMemoryMB: 'takes 1 GB',
  maxCpuPercent: 'spins',
  maxExecutionMs: 'ends at its deadline',
  canReadFiles: 'reads /etc/shadow',
  canWriteFiles: 'writes outside',
  canNetwork: 'talks over UDP',
  canExecuteCommands: 'runs /usr/bin/id',
  allowedEnvironmentVars: 'gives a tool a clean environment',
  dataDirectory: 'reads the admin key',
  processes: 'forks 200 times',
  temporaryDirectory: 'fills the disk',
  writableNotExecutable: 'runs what it wrote',
  systemCalls: 'makes a user namespace',
  otherProcesses: 'traces a process outside',
  grandchildren: 'whose grandchild has a session of its own',
};

it('the table has every field once', () => {
  expect(rows.map(({ field }) => field).sort()).toEqual([...sandboxFields].sort());
});

it.each([0, 1, 2, 3] as const)('tier %i holds what the table says', (tier) => {
  const abilities = upToTier(host, tier);
  const marks = sandboxFields.map((field) => {
    const policy = everything.restricts.has(field) ? everything : nothing;
    const { enforced, notes } = withDescendantsEnded(effectiveSandbox(policy, abilities));
    if (!enforced.includes(field)) return '–';
    return notes[field] === undefined ? '●' : '◐';
  });
  expect(sandboxFields.map((field) => marksOf.get(field)?.[tier])).toEqual(marks);
});

describe('a cgroup below tier 3', () => {
  const [said = ''] = /^Below tier 3 .*(?:\n.+)*/m.exec(read('docs/operate/sandbox.md')) ?? [];

  it.each([
    ['memory', 'maxMemoryMB'],
    ['pids', 'processes'],
    ['cpu', 'maxCpuPercent'],
  ] as const)('%s alone holds %s as tier 3 does, and the page says so', (controller, field) => {
    for (const tier of [1, 2] as const) {
      const { enforced, notes } = effectiveSandbox(everything, {
        ...upToTier(host, tier),
        cgroups: { [controller]: group },
      });
      expect({ enforced: enforced.includes(field), note: notes[field] }).toEqual({ enforced: true });
    }
    expect(said).toContain(`\`${field}\``);
  });
});

const specs = [
  'test/integration/sandbox.slow-spec.ts',
  'test/e2e/calls.e2e-spec.ts',
  'test/e2e/pool.slow-spec.ts',
]
  .map(read)
  .join('\n');

it.each(sandboxFields)('%s has a test', (field) => {
  expect(specs).toContain(tests[field]);
});

it.each([
  ['SANDBOX_TEMPORARY_MB', 'temporaryMB'],
  ['SANDBOX_MEMORY_MB', 'memoryMB'],
  ['SANDBOX_PROCESSES', 'processes'],
] as const)('the page states the default of %s', (name, member) => {
  const stated = new RegExp(`(\\d+) (?:MB|processes)[^()]*\\(\`${name}\`\\)`).exec(
    read('docs/operate/sandbox.md'),
  )?.[1];
  expect(Number(stated)).toBe(loadConfig({}).sandbox.defaults[member]);
});
