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
export const toolNamePattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** Interpreters by the ending of a program's name. */
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

/** A tool of this machine, as it would be registered. */
type ToolSource = CustomToolCreate;

/** A tool that `tool dev` can run without a server. */
export type LocalTool = ToolSource &
  Required<Pick<ToolSource, 'command' | 'args'>> & { readonly workingDir: string };

/**
 * Reads the tool at a path: a folder with a tool.json (or a tool.py, tool.mjs …), that file, or a program.
 * @param name replaces the tool's own name
 * @throws CliError `usage` if there is no tool
 */
export function toolAt(path: string, name?: string): ToolSource {
  const absolutePath = resolve(path);
  const stats = statSync(absolutePath, { throwIfNoEntry: false });
  if (!stats) throw new CliError(`there is nothing at ${absolutePath}`, exit.usage);
  const found = stats.isDirectory() ? toolInFolder(absolutePath) : toolInFile(absolutePath);
  const tool = { ...found, ...(name !== undefined && { name }) };
  if (toolNamePattern.test(tool.name)) return tool;
  throw new CliError(
    `"${tool.name}" is no name for a tool (letters, digits, _ and -; a letter first): choose one by --name`,
    exit.usage,
  );
}

/** Whether a path is a tool.json, or a folder with one. */
export const hasManifest = (path: string): boolean =>
  basename(path) === 'tool.json' || existsSync(join(path, 'tool.json'));

/** Reads a tool that speaks Toolkeeper's own protocol. @throws CliError `usage` if there is none, or it is an MCP server */
export function localToolAt(path: string): LocalTool {
  const tool = toolAt(path);
  const { command, args = [], workingDir, protocol } = tool;
  if (command !== undefined && protocol !== 'mcp')
    return { ...tool, command, args, workingDir: workingDir ?? '.' };
  throw new CliError(
    'an MCP server is registered, and run by the server: tool register, tool test',
    exit.usage,
  );
}

function toolInFolder(folder: string): ToolSource {
  const program = ['tool.json', ...programs].find((file) => existsSync(join(folder, file)));
  if (program !== undefined) return toolInFile(join(folder, program));
  throw new CliError(`${folder} has no tool.json, nor ${programs.join(', ')}`, exit.usage);
}

function toolInFile(file: string): ToolSource {
  if (basename(file) === 'tool.json') return toolInManifest(file);
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

function toolInManifest(file: string): ToolSource {
  try {
    const text = readFileSync(file, 'utf8');
    if (text.startsWith('\uFEFF'))
      throw new Error('it begins with a byte order mark: save it as UTF-8 without one');
    const manifest = JSON.parse(text) as ToolSource;
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
  readonly manifest: ToolSource;
  /** Path of a folder, or of one file. */
  readonly path: string;
}

/**
 * Finds the files to upload for a path: a whole folder or a single program.
 * @returns undefined for an MCP server behind a URL, which has no files
 * @throws CliError `usage` if there is no tool, or it runs in another folder
 */
export function bundleAt(path: string, name?: string): Bundle | undefined {
  const { command, workingDir, ...others } = toolAt(path, name);
  if (command === undefined) return undefined;
  const absolutePath = resolve(path);
  const source = basename(absolutePath) === 'tool.json' ? dirname(absolutePath) : absolutePath;
  const folder = statSync(source).isDirectory() ? source : dirname(source);
  if (workingDir != null && resolve(workingDir) !== folder)
    throw new CliError(
      `its workingDir ${workingDir} is another folder than ${folder}: register it with --in-place`,
      exit.usage,
    );
  return { manifest: { ...others, command: relativeTo(folder, command) }, path: source };
}

/** A command in the folder becomes relative to it, so that it is found wherever the folder is unpacked. */
function relativeTo(folder: string, command: string): string {
  const path = relative(folder, command);
  return command.startsWith('/') && !path.startsWith('..') ? `./${path}` : command;
}

/** A gzipped tar of the files, with the tool.json at its top. Hidden files are left out. */
export async function packBundle({ manifest, path: source }: Bundle): Promise<Blob> {
  const { create } = await import('tar');
  const work = mkdtempSync(join(tmpdir(), 'toolkeeper-'));
  try {
    const folder = join(work, 'files');
    const archive = join(work, 'bundle.tgz');
    mkdirSync(folder);
    const target = statSync(source).isDirectory() ? folder : join(folder, basename(source));
    // The source itself is copied even if its name begins with a dot.
    const filter = (path: string): boolean => path === source || isBundled(path);
    cpSync(source, target, { recursive: true, filter });
    writeFileSync(join(folder, 'tool.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    await create({ cwd: folder, file: archive, gzip: true, portable: true }, ['.']);
    return new Blob([readFileSync(archive)]);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Whether a bundle includes a file. @throws CliError for links and other special files */
function isBundled(path: string): boolean {
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
