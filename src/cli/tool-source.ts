import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, extname, join, relative, resolve } from 'node:path';
import { tmpdir } from 'node:os';
import { messageOf } from '../base/common/message-of.js';
import type { CustomToolCreate } from '../../client/types.gen.js';
import { CliError, exit } from './output.js';

/** Names that a registration accepts. */
export const toolName = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

const interpreters: Readonly<Record<string, string>> = {
  '.py': 'python3',
  '.js': 'node',
  '.mjs': 'node',
  '.cjs': 'node',
  '.sh': 'bash',
  '.bash': 'bash',
};
/** Possible programs of a folder without a tool.json. */
const programs = ['tool.py', 'tool.mjs', 'tool.js', 'tool.sh'];

/** A project that can run without a server. */
export type Executable = Project &
  Required<Pick<Project, 'command' | 'args'>> & { readonly workingDir: string };

/** A tool, as it would be registered. */
type Project = CustomToolCreate;

/**
 * Reads the project at a path: a folder with a tool.json (or a tool.py, tool.mjs …), that file, or a program.
 * @param name replaces the project's own name
 * @throws CliError `usage` if there is no project
 */
export function projectAt(path: string, name?: string): Project {
  const at = resolve(path);
  const stats = statSync(at, { throwIfNoEntry: false });
  if (!stats) throw new CliError(`there is nothing at ${at}`, exit.usage);
  const project = stats.isDirectory() ? folderProject(at) : fileProject(at);
  const renamed = { ...project, ...(name !== undefined && { name }) };
  if (toolName.test(renamed.name)) return renamed;
  throw new CliError(
    `"${renamed.name}" is no name for a tool (letters, digits, _ and -; a letter first): choose one by --name`,
    exit.usage,
  );
}

/** Whether a path has a tool.json. */
export const hasManifest = (path: string): boolean =>
  basename(path) === 'tool.json' || existsSync(join(path, 'tool.json'));

/** Reads a project that speaks Toolkeeper's own protocol. @throws CliError `usage` if there is none */
export function executableAt(path: string): Executable {
  const project = projectAt(path);
  const { command, args = [], workingDir, protocol } = project;
  if (command !== undefined && protocol !== 'mcp')
    return { ...project, command, args, workingDir: workingDir ?? '.' };
  throw new CliError(
    'an MCP server is registered, and run by the server: tool register, tool test',
    exit.usage,
  );
}

function folderProject(folder: string): Project {
  const program = ['tool.json', ...programs].find((file) => existsSync(join(folder, file)));
  if (program !== undefined) return fileProject(join(folder, program));
  throw new CliError(`${folder} has no tool.json, nor ${programs.join(', ')}`, exit.usage);
}

function fileProject(file: string): Project {
  if (basename(file) === 'tool.json') return manifestProject(file);
  const workingDir = dirname(file);
  const stem = basename(file, extname(file));
  // For generic file names, such as tool.py, the folder's name is more specific.
  const name = ['tool', 'main', 'index'].includes(stem) ? basename(workingDir) : stem;
  const interpreter = interpreters[extname(file)];
  if (interpreter !== undefined) return { name, command: interpreter, args: [basename(file)], workingDir };
  if ((statSync(file).mode & 0o111) !== 0) return { name, command: file, args: [], workingDir };
  throw new CliError(
    `${file} is neither executable nor a script of ${Object.keys(interpreters).join(', ')}: write a tool.json beside it`,
    exit.usage,
  );
}

function manifestProject(file: string): Project {
  try {
    const text = readFileSync(file, 'utf8');
    if (text.startsWith('\uFEFF'))
      throw new Error('it begins with a byte order mark: save it as UTF-8 without one');
    const manifest = JSON.parse(text) as CustomToolCreate;
    if (typeof manifest !== 'object' || manifest === null) throw new Error('it holds no object');
    const { name, command, args = [], workingDir } = manifest;
    if (typeof name !== 'string') throw new Error('it names no tool');
    // An MCP server behind a URL has no files here.
    if (command === undefined) return manifest;
    return { ...manifest, args, workingDir: resolve(dirname(file), workingDir ?? '.') };
  } catch (error) {
    throw new CliError(`${file}: ${messageOf(error)}`, exit.usage);
  }
}

/** A tool and the files that it runs. */
export interface Bundle {
  /** The content of its tool.json. */
  readonly manifest: CustomToolCreate;
  /** A folder, or one file. */
  readonly files: string;
}

/**
 * Finds the files to upload for a path: a whole folder or a single program.
 * @returns undefined for an MCP server behind a URL, which has no files
 * @throws CliError `usage` if there is no tool, or it runs in another folder
 */
export function bundleAt(path: string, name?: string): Bundle | undefined {
  const project = projectAt(path, name);
  const { command, workingDir, ...others } = project;
  if (command === undefined) return undefined;
  const at = resolve(path);
  const files = basename(at) === 'tool.json' ? dirname(at) : at;
  const folder = statSync(files).isDirectory() ? files : dirname(files);
  if (workingDir != null && resolve(workingDir) !== folder)
    throw new CliError(
      `its workingDir ${workingDir} is another folder than ${folder}: register it with --in-place`,
      exit.usage,
    );
  return { manifest: { ...others, command: inFolder(folder, command) }, files };
}

/** The command, relative to the folder if it lies inside, so that it is found wherever the folder is unpacked. */
function inFolder(folder: string, command: string): string {
  const path = relative(folder, command);
  return command.startsWith('/') && !path.startsWith('..') ? `./${path}` : command;
}

/** A gzipped tar of the files, with the tool.json at its top. Hidden files are left out. */
export async function packed({ manifest, files }: Bundle): Promise<Blob> {
  const { create } = await import('tar');
  const work = mkdtempSync(join(tmpdir(), 'toolkeeper-'));
  try {
    const folder = join(work, 'files');
    const archive = join(work, 'bundle.tgz');
    mkdirSync(folder);
    const target = statSync(files).isDirectory() ? folder : join(folder, basename(files));
    cpSync(files, target, { recursive: true, filter: (path) => path === files || belongs(path) });
    writeFileSync(join(folder, 'tool.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    await create({ cwd: folder, file: archive, gzip: true, portable: true }, ['.']);
    return new Blob([readFileSync(archive)]);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Whether a file belongs into a bundle. @throws CliError for links and other special files */
function belongs(path: string): boolean {
  const name = basename(path);
  if (name.startsWith('.') || name === '__pycache__') return false;
  const stats = lstatSync(path);
  if (stats.isFile() || stats.isDirectory()) return true;
  const what = stats.isSymbolicLink() ? 'a link' : 'neither a file nor a folder';
  throw new CliError(
    `${path} is ${what}, which a bundle cannot hold: leave it out, a virtual environment as a whole, or use --in-place`,
    exit.usage,
  );
}
