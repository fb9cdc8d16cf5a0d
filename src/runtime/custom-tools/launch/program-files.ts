import type { Stats } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, extname, join, relative, resolve, sep } from 'node:path';
import { hashOfFile, NotRegularFile, statOf } from '../../../base/common/regular-file.js';
import { wrong } from '../../../web/rest/wrong-field.js';
import type { ProcessSpec } from '../../process-pool/pool.types.js';
import { covers } from '../../sandbox/mounts.js';
import { isScript } from '../commands/resolve-command.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import type { ProgramFile } from '../entity/tool-revision.entity.js';

/** The hash of a file in a certain state. */
interface CachedHash {
  readonly state: string;
  readonly hash: string;
}

/** Max size of a file that is hashed. Larger ones are compared by size and time. */
const maxHashedBytes = 16 * 1_048_576;
/** Max tick of a file system's clock, within which two writes look like one. */
const clockTickMs = 1_000;
/** Max entries of a tool's folder that are searched for scripts. */
const maxFolderEntries = 1_000;
const scriptExtensions = new Set(
  '.bash .cjs .cts .js .jar .lua .mjs .mts .php .pl .ps1 .py .pyz .r .rb .sh .ts .wasm .zsh'.split(' '),
);
const dependencyFolders = new Set(['node_modules', '__pycache__', 'venv', 'env', 'site-packages', 'vendor']);

/** Whether a file may be part of a program, judged by its name. */
export const isScriptName = (name: string): boolean => scriptExtensions.has(extname(name).toLowerCase());

/** Whether a file exists and is a program, by its name, mode or first line. */
export async function isProgram(path: string): Promise<boolean> {
  const stats = await regularFile(path);
  return stats !== undefined && (isScriptName(path) || isExecutable(stats) || isScript(path));
}

/** The path relative to the root of the server's files if it is inside, so that they can be moved. */
export function portablePath(root: string, path: string): string {
  const fromRoot = relative(root, path);
  return fromRoot.startsWith('..') ? path : fromRoot || '.';
}

/** The place of the files of a tool's program. */
export interface Location {
  /** The tool's own directory, else its single file; undefined if it has neither. */
  readonly ownPath: string | undefined;
  /** The arguments and the working directory of its processes. */
  readonly launch: Pick<CustomTool, 'args' | 'workingDir'>;
  /** Additional variables, so that the program finds packages in the directory. */
  readonly variables?: Readonly<Record<string, string>>;
  /**
   * Pointer to the member that names the directory. Set if the directory has no program of the tool, so that the operator
   * must have granted it.
   */
  readonly needsGrantFor?: string;
}

/**
 * Finds the files of a tool that is no bundle. Its own directory is its `workingDir`. Without one it is the folder of the
 * first file among its arguments, or that of its command; the tool then runs there, and arguments that name files are made
 * absolute, because they were relative to `root`.
 * @param script the index of the argument that is an interpreter's script
 * @param installedDir CUSTOM_TOOLS_DIR, in which each folder belongs to its tool
 */
export async function locateProgram(
  tool: CustomTool,
  script: number | undefined,
  root: string,
  installedDir: string,
): Promise<Location> {
  const { workingDir, args, command } = tool;
  const base = resolve(root, workingDir ?? '.');
  const programs = new Set<string>();
  const argFiles = await Promise.all(
    args.map(async (arg, n) => {
      const file = await fileAt(resolve(base, arg));
      if (file !== undefined && (n === script || (await isProgram(file)))) programs.add(file);
      return file;
    }),
  );
  const program = command.includes('/') ? await fileAt(resolve(base, command)) : undefined;
  if (program !== undefined) programs.add(program);
  if (workingDir !== null) {
    const holdsProgram = [...programs].some((file) => covers(base, file));
    const isOwn = covers(installedDir, base) || (holdsProgram && !isShared(base, root));
    return { ownPath: base, launch: { workingDir, args }, ...(!isOwn && { needsGrantFor: '/workingDir' }) };
  }
  const first = argFiles.find((file) => file !== undefined) ?? program;
  if (first === undefined) return { ownPath: undefined, launch: { workingDir, args } };
  const folder = dirname(first);
  return {
    // A script in a shared directory, such as a home, does not own all of it.
    ownPath: isShared(folder, root) ? first : folder,
    launch: { workingDir: folder, args: args.map((arg, n) => argFiles[n] ?? arg) },
    ...(!programs.has(first) && { needsGrantFor: `/args/${argFiles.indexOf(first)}` }),
  };
}

/** The folder of a bundle belongs to its tool. Python needs PYTHONPATH to find packages there; Node does not. */
export async function locateBundle({ args }: CustomTool, folder: string): Promise<Location> {
  const packages = join(folder, 'site-packages');
  const hasPackages = (await statOf(packages))?.isDirectory() === true;
  return {
    ownPath: folder,
    launch: { args, workingDir: folder },
    ...(hasPackages && { variables: { PYTHONPATH: packages } }),
  };
}

/** Folders that a tool cannot own, because other programs use them. */
const sharedFolders = '/ /bin /etc /home /opt /root /srv /tmp /usr /var'.split(' ');
const isShared = (folder: string, root: string): boolean =>
  [...sharedFolders, homedir(), tmpdir(), root].includes(folder);

/** The path itself if there is a file. */
const fileAt = async (path: string): Promise<string | undefined> =>
  (await statOf(path))?.isFile() ? path : undefined;

const fileErrors = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP']);

/** @throws Problem of the field `command` for a missing or unreadable program file, and other errors unchanged */
export function throwAsProblem(error: unknown): never {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  const isFileError =
    error instanceof NotRegularFile || (syscall !== undefined && fileErrors.has(code ?? ''));
  throw isFileError ? wrong('/command', `cannot be read: ${message}`) : error;
}

/**
 * Finds the files of a tool's program: the command, the scripts among its arguments, and for a tool in
 * CUSTOM_TOOLS_DIR all scripts in its own folder. A file is hashed again only if its state changed. Files of bundles are
 * left out, because they never change: the configuration names the hash of the bundle.
 */
export class ProgramFiles {
  private readonly known = new Map<string, CachedHash>();

  constructor(
    private readonly root: string,
    private readonly installedDir: string,
    private readonly bundlesDir: string,
  ) {}

  /** The files of a program, sorted by path. Missing and unreadable files are left out. */
  async of({ command, args, cwd }: ProcessSpec): Promise<ProgramFile[]> {
    const paths = new Set([command]);
    for (const arg of args) {
      const path = resolve(cwd, arg);
      if (await isProgram(path)) paths.add(path);
    }
    if (cwd.startsWith(`${this.installedDir}${sep}`) && !this.isBundled(cwd))
      for (const path of await scriptsBelow(cwd)) paths.add(path);
    const files: ProgramFile[] = [];
    for (const path of paths) {
      const file = this.isBundled(path) ? undefined : await this.file(path);
      if (file) files.push(file);
    }
    return files.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  private isBundled(path: string): boolean {
    return path.startsWith(`${this.bundlesDir}${sep}`);
  }

  /** A file with its hash; undefined if it is missing or unreadable. */
  private async file(path: string): Promise<ProgramFile | undefined> {
    const stats = await regularFile(path);
    const hash = stats && (await this.hash(path, stats).catch(() => undefined));
    if (!stats || hash === undefined) return undefined;
    const { size, mtime } = stats;
    return { path: portablePath(this.root, path), size, modifiedAt: mtime.toISOString(), hash };
  }

  /** @returns null if the file is too large to be hashed */
  private async hash(path: string, { ino, size, mtimeMs, ctimeMs }: Stats): Promise<string | null> {
    if (size > maxHashedBytes) return null;
    const state = [ino, size, mtimeMs, ctimeMs].join(' ');
    const known = this.known.get(path);
    if (known?.state === state) return known.hash;
    const hash = await hashOfFile(path);
    if (Date.now() - ctimeMs > clockTickMs) this.known.set(path, { state, hash });
    else this.known.delete(path);
    return hash;
  }
}

/** Programs below a folder, except in hidden folders and folders of dependencies. */
async function scriptsBelow(folder: string): Promise<string[]> {
  const scripts: string[] = [];
  const folders = [folder];
  let entries = 0;
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for (const entry of await readdir(next, { withFileTypes: true }).catch(() => [])) {
      if (++entries > maxFolderEntries) return scripts;
      const path = join(next, entry.name);
      if (entry.isDirectory() && !entry.name.startsWith('.') && !dependencyFolders.has(entry.name)) {
        folders.push(path);
      } else if (!entry.isDirectory() && (isScriptName(path) || (await isExecutableFile(path)))) {
        scripts.push(path);
      }
    }
  }
  return scripts;
}

async function isExecutableFile(path: string): Promise<boolean> {
  const stats = await regularFile(path);
  return stats !== undefined && isExecutable(stats);
}

const isExecutable = ({ mode }: Stats): boolean => (mode & 0o111) !== 0;

/** The state of a regular file; undefined if there is none. */
async function regularFile(path: string): Promise<Stats | undefined> {
  const stats = await statOf(path);
  return stats?.isFile() ? stats : undefined;
}
