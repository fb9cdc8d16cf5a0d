import {
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { CustomToolCreate } from '../../client/types.gen.js';
import { CliError, exit } from './exit.js';
import { projectAt } from './project.js';

/** A tool with the files that it runs. */
export interface Bundle {
  /** As the tool.json in it says. */
  readonly manifest: CustomToolCreate;
  /** A folder, or one file. */
  readonly files: string;
}

/**
 * The files of what stands at a path: all of its folder, or a program alone.
 * @returns undefined of an MCP server behind a URL, which has none
 * @throws CliError `usage` where it is no tool, or runs in another folder
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
      `its workingDir ${workingDir} is another folder than ${folder}: --in-place registers it where it stands`,
      exit.usage,
    );
  return { manifest: { ...others, command: inFolder(folder, command) }, files };
}

/** A program of the folder is found wherever that is unpacked. */
function inFolder(folder: string, command: string): string {
  const path = relative(folder, command);
  return command.startsWith('/') && !path.startsWith('..') ? `./${path}` : command;
}

/** A gzipped tar of the files, with its tool.json at the top. Hidden files stay behind. */
export async function packed({ manifest, files }: Bundle): Promise<Blob> {
  const { create } = await import('tar');
  const work = mkdtempSync(join(tmpdir(), 'toolkeeper-'));
  try {
    const [folder, archive] = [join(work, 'files'), join(work, 'bundle.tgz')];
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

function belongs(path: string): boolean {
  const name = basename(path);
  if (name.startsWith('.') || name === '__pycache__') return false;
  const found = lstatSync(path);
  if (found.isFile() || found.isDirectory()) return true;
  throw new CliError(`${path} is neither a file nor a folder: a bundle holds nothing else`, exit.usage);
}
