import { glob, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parse } from 'secure-json-parse';
import { messageOf } from '../../common/message-of.js';
import { readPlainFile } from '../../common/plain-file.js';
import { wrong } from '../entity/wrong-field.js';

const maxTextBytes = 4_194_304;

/** How the packages of one ecosystem are named by a bundle, checked, and installed. */
export interface Ecosystem {
  readonly program: string;
  /** The file in which a bundle names them. */
  readonly named: string;
  /** The folder that they lie in, where the bundle brings them along. */
  readonly folder: string;
  /** The files that the installation reads; nothing else of the bundle is shown to it. */
  readonly reads: readonly string[];
  /** @throws Problem `invalid_request` where anything else would be fetched than certain versions of packages */
  check(files: readonly string[]): void;
  /** @param work holds the files that it reads @param target the bundle's folder of packages */
  args(work: string, target: string): readonly string[];
}

const npm: Ecosystem = {
  program: 'npm',
  named: 'package.json',
  folder: 'node_modules',
  reads: ['package.json', 'package-lock.json'],
  check: ([, lock = '']) => checkLock(lock),
  args: (work) => [
    ...[
      'ci',
      '--prefix',
      work,
      '--ignore-scripts',
      '--no-bin-links',
      '--omit=dev',
      '--no-audit',
      '--no-fund',
    ],
    // The hosts in a lock are its author's: packages come from the registry that npm is configured for.
    ...['--replace-registry-host=always', '--no-progress', '--cache', join(work, '.cache')],
  ],
};

const pip: Ecosystem = {
  program: 'python3',
  named: 'requirements.txt',
  folder: 'site-packages',
  reads: ['requirements.txt'],
  check: ([requirements = '']) => checkRequirements(requirements),
  args: (work, target) => [
    ...['-m', 'pip', 'install', '--only-binary=:all:', '--no-deps', '--no-compile', '--no-input'],
    ...['--no-cache-dir', '--disable-pip-version-check', '--progress-bar', 'off'],
    ...['--target', target, '-r', join(work, 'requirements.txt')],
  ],
};

/** Where packages lie. */
export const packageFolders: readonly string[] = [npm.folder, pip.folder];

/** @returns those of whose packages the bundle names some and brings none */
export async function missingPackages(bundle: string): Promise<Ecosystem[]> {
  const missing: Ecosystem[] = [];
  for (const ecosystem of [npm, pip]) {
    const named = await textOf(bundle, ecosystem.named);
    const namesSome = ecosystem === npm ? namesDependencies(named) : requirementsIn(named).length > 0;
    if (namesSome && !(await isThere(join(bundle, ecosystem.folder)))) missing.push(ecosystem);
  }
  return missing;
}

/** Empty where there is no such file. @throws Problem `invalid_request` where it is too large to be read at once */
export async function textOf(bundle: string, file: string): Promise<string> {
  try {
    return await readPlainFile(join(bundle, file), maxTextBytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw wrong(`/${file}`, `cannot be read: ${messageOf(error).replace(bundle, '.')}`);
  }
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

interface Manifest {
  readonly dependencies?: object;
  readonly optionalDependencies?: object;
  readonly scripts?: Readonly<Record<string, string>>;
}

function namesDependencies(manifest: string): boolean {
  if (manifest === '') return false;
  const { dependencies, optionalDependencies } = jsonIn('package.json', manifest) as Manifest;
  return Object.keys({ ...dependencies, ...optionalDependencies }).length > 0;
}

interface Lock {
  readonly lockfileVersion?: number;
  readonly packages?: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly link?: boolean;
  readonly inBundle?: boolean;
  readonly resolved?: string;
  readonly integrity?: string;
}

const packageFolder = /^(node_modules\/(@[a-z0-9-~][\w.~-]*\/)?[a-z0-9-~][\w.~-]*(\/|$))+$/i;

function checkLock(text: string): void {
  const file = 'package-lock.json';
  if (text === '') throw unpinned(file, 'is needed: it says which versions are installed');
  const { lockfileVersion = 0, packages = {} } = jsonIn(file, text) as Lock;
  if (lockfileVersion < 2) throw unpinned(file, 'must be of version 2 or 3 (npm 7 or newer writes it)');
  for (const [path, locked] of Object.entries(packages)) {
    if (path === '') continue;
    const { link, inBundle, resolved = '', integrity } = locked;
    if (!packageFolder.test(path) || path.endsWith('/') || link === true)
      throw unpinned(file, `names ${JSON.stringify(path)}, which is no package of a registry`);
    if (inBundle !== true && (!/^https?:/.test(resolved) || !integrity))
      throw unpinned(file, `has no tarball of a registry with its hash for ${path}`);
  }
}

const pinned =
  /^[\w.-]+(\[[\w.,-]+\])?==[\w.+!-]+(\s*;[\w\s.,'"<>=!()]*)?(\s+--hash=sha256:[0-9a-f]{64})*(\s+#.*)?$/i;

/** The requirements of a file, one a line, without comments. */
const requirementsIn = (text: string): string[] =>
  text
    .replaceAll(/\\\r?\n/g, ' ')
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

function checkRequirements(text: string): void {
  // Characters that end a line for pip and not here.
  if (/[^\t\r\n\x20-\x7e]/.test(text)) throw unpinned('requirements.txt', 'must be printable ASCII');
  const other = requirementsIn(text).find((line) => !pinned.test(line));
  if (other === undefined) return;
  throw unpinned(
    'requirements.txt',
    `must name each package as name==version, dependencies of packages included (pip freeze writes them), not ${JSON.stringify(other.slice(0, 200))}`,
  );
}

const unpinned = (file: string, detail: string) => wrong(`/${file}`, detail);

function jsonIn(file: string, text: string): object {
  try {
    return parse(text) as object;
  } catch {
    throw wrong(`/${file}`, 'is no JSON');
  }
}

const installScripts = ['preinstall', 'install', 'postinstall'];

/**
 * Nothing of a bundle ran while its packages were installed: one that needs that does not work.
 * @throws Problem `invalid_request` that names it
 */
export async function refuseInstallScripts(work: string): Promise<void> {
  for await (const path of glob('node_modules/**/package.json', { cwd: work })) {
    const folder = dirname(path);
    if (!packageFolder.test(folder)) continue;
    const { scripts = {} } = jsonIn(path, await readFile(join(work, path), 'utf8')) as Manifest;
    const script = installScripts.find((name) => scripts[name] !== undefined);
    const builds = script === undefined && (await isThere(join(work, folder, 'binding.gyp')));
    if (script === undefined && !builds) continue;
    const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
    throw wrong(
      `/package-lock.json`,
      `names ${name}, which needs ${builds ? 'to be built (binding.gyp)' : `its ${script} script`} to work: install it where you trust it, and bring node_modules along`,
    );
  }
  await rm(join(work, 'node_modules', '.package-lock.json'), { force: true });
}
