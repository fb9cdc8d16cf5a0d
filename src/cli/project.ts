import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { messageOf } from '../common/message-of.js';
import type { CustomToolCreate } from '../../client/types.gen.js';
import { CliError, exit } from './exit.js';

/** What a registration takes as a tool's name. */
export const toolName = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

const interpreters: Readonly<Record<string, string>> = {
  '.py': 'python3',
  '.js': 'node',
  '.mjs': 'node',
  '.cjs': 'node',
  '.sh': 'bash',
  '.bash': 'bash',
};
/** The program of a folder without a tool.json. */
const programs = ['tool.py', 'tool.mjs', 'tool.js', 'tool.sh'];

/** What can be run at its author's desk. */
export type Executable = Project &
  Required<Pick<Project, 'command' | 'args'>> & { readonly workingDir: string };

/** A tool, as it would be registered. */
type Project = CustomToolCreate;

/**
 * What stands at a path: a folder with a tool.json (or a tool.py, tool.mjs …), that file, or a program.
 * @param name in place of the one that is found
 * @throws CliError `usage` where it is none of them
 */
export function projectAt(path: string, name?: string): Project {
  const at = resolve(path);
  const found = statSync(at, { throwIfNoEntry: false });
  if (!found) throw new CliError(`there is nothing at ${at}`, exit.usage);
  const project = found.isDirectory() ? folderProject(at) : fileProject(at);
  const named = { ...project, ...(name !== undefined && { name }) };
  if (toolName.test(named.name)) return named;
  throw new CliError(
    `"${named.name}" is no name for a tool (letters, digits, _ and -; a letter first): choose one by --name`,
    exit.usage,
  );
}

/** Whether a tool.json says what stands at a path. */
export const hasManifest = (path: string): boolean =>
  basename(path) === 'tool.json' || existsSync(join(path, 'tool.json'));

/** @throws CliError `usage` where it is no program that speaks Toolkeeper's own protocol */
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
  // Many call their program tool.py: then the folder says what it is.
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
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as CustomToolCreate;
    if (typeof manifest !== 'object' || manifest === null) throw new Error('it holds no object');
    const { name, command, args = [], workingDir } = manifest;
    if (typeof name !== 'string') throw new Error('it names no tool');
    // An MCP server behind a URL stands nowhere on this disk.
    if (command === undefined) return manifest;
    return { ...manifest, args, workingDir: resolve(dirname(file), workingDir ?? '.') };
  } catch (error) {
    throw new CliError(`${file}: ${messageOf(error)}`, exit.usage);
  }
}
