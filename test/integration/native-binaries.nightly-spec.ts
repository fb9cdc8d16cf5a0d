import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { makeTestFolder } from '../support/test-folder.js';

const native = resolve('native');
const binaries = join(native, 'bin');
const lines = (file: string) => readFileSync(join(binaries, file), 'utf8').trim().split('\n');
const sha256 = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');

const architectures = ['x64', 'arm64'] as const;
const programs = readdirSync(native)
  .filter((name) => name.endsWith('.c'))
  .map((name) => basename(name, '.c'));
/** What was built for which architecture, as `file name → machine number in its ELF header`. */
const expected = new Map(
  programs.flatMap((program) => [
    [`${program}-x64`, 62],
    [`${program}-arm64`, 183],
  ]),
);

const builtFor = (kind: string): string[] => programs.map((program) => `${program}-${kind}`);

/** The type of the program header that names a loader: a static program has none. */
const interpreter = 3;
function programHeaderTypes(elf: Buffer): number[] {
  const start = Number(elf.readBigUInt64LE(32));
  const [size, count] = [elf.readUInt16LE(54), elf.readUInt16LE(56)];
  return Array.from({ length: count }, (_, n) => elf.readUInt32LE(start + n * size));
}

describe('the committed native programs', () => {
  it('are one for each source and architecture, executable, and static', () => {
    expect(programs).toContain('launcher');
    const found = readdirSync(binaries).filter((name) => name.includes('-'));
    expect(found.sort()).toEqual([...expected.keys()].sort());
    for (const [name, machine] of expected) {
      const bytes = readFileSync(join(binaries, name));
      expect(bytes.subarray(0, 4).toString('latin1')).toBe('\x7fELF');
      expect(bytes.readUInt16LE(18)).toBe(machine);
      expect(statSync(join(binaries, name)).mode & 0o111).toBe(0o111);
      expect(programHeaderTypes(bytes)).not.toContain(interpreter);
    }
  });

  it('have the hashes of SHA256SUMS', () => {
    const sums = new Map(lines('SHA256SUMS').map((line) => [line.slice(66), line.slice(0, 64)]));
    expect([...sums.keys()].sort()).toEqual([...expected.keys()].sort());
    for (const [name, sum] of sums) expect(`${name} ${sha256(join(binaries, name))}`).toBe(`${name} ${sum}`);
  });
});

describe('a build from source', () => {
  const folder = makeTestFolder();
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
  const build = (...args: string[]) =>
    execFileSync(join(native, 'build.sh'), args, {
      encoding: 'utf8',
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });

  /** What the bytes depend on, undefined where the compiler is missing. */
  function toolchain(kind: string): string | undefined {
    try {
      return build('--toolchain', kind).trim();
    } catch {
      return undefined;
    }
  }

  it.each(architectures)('gives the committed bytes (%s)', (kind) => {
    const here = toolchain(kind);
    const recorded = lines('BUILT_WITH').find((line) => line.startsWith(`${kind}: `));
    expect(recorded).toBeDefined();
    if (here !== recorded) {
      const why = here === undefined ? 'there is no compiler' : `the compiler is another one: ${here}`;
      process.stdout.write(`Native programs, not rebuilt on this host (${why}); their hashes were checked\n`);
      return;
    }
    const out = join(folder, kind);
    mkdirSync(out);
    build('--arch', kind, '--out', out);
    expect(readdirSync(out).sort()).toEqual(builtFor(kind).sort());
    for (const name of readdirSync(out)) {
      expect(`${name} ${sha256(join(out, name))}`).toBe(`${name} ${sha256(join(binaries, name))}`);
    }
  });
});

describe('the arm64 launcher', () => {
  const emulator = ['/usr/bin/qemu-aarch64-static', '/usr/bin/qemu-aarch64'].find(existsSync);
  const runner = process.arch === 'arm64' ? [] : emulator && [emulator];

  it('reads its command line', () => {
    if (runner === undefined || runner === '') {
      process.stdout.write('The arm64 launcher was not run on this host (there is no qemu-aarch64)\n');
      return;
    }
    const [program = '', ...args] = [...runner, join(binaries, 'launcher-arm64')];
    const probed = JSON.parse(execFileSync(program, [...args, '--probe'], { encoding: 'utf8' })) as object;
    expect(probed).toMatchObject({ landlockAbi: expect.any(Number), pdeathsig: true });
    const refused = () =>
      execFileSync(program, [...args, '--rlimit', 'cpu=x', '--', 'true'], { stdio: 'pipe' });
    expect(refused).toThrow(/toolkeeper-launcher: the value of --rlimit is not a whole number/);
    const echoed = execFileSync(program, [...args, '--rlimit', 'nofile=64', '--', 'echo', 'ran'], {
      encoding: 'utf8',
    });
    expect(echoed).toBe('ran\n');
  });
});
