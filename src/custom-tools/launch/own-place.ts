import { stat } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { LaunchSettings } from '../commands/resolve-command.js';

export interface OwnPlace {
  /** The directory that is the tool's own, else its file alone; undefined where it has neither. */
  readonly own: string | undefined;
  /** How it is launched there. */
  readonly launch: Pick<LaunchSettings, 'args' | 'workingDir'>;
}

/**
 * A tool's own directory is its `workingDir`, else the folder of the first file among its command and its arguments,
 * where it then runs as well. Relative arguments mean files below `root` in that case, so they are made absolute.
 */
export async function ownPlace(tool: LaunchSettings, root: string): Promise<OwnPlace> {
  const { workingDir, args } = tool;
  if (workingDir !== null) return { own: resolve(root, workingDir), launch: { workingDir, args } };
  const places = await Promise.all(args.map((arg) => fileAt(resolve(root, arg))));
  const program = tool.command.includes('/') ? await fileAt(resolve(root, tool.command)) : undefined;
  const script = places.find((place) => place !== undefined) ?? program;
  if (script === undefined) return { own: undefined, launch: { workingDir, args } };
  const folder = dirname(script);
  return {
    // A script that lies about in a home directory does not open all of it.
    own: isShared(folder, root) ? script : folder,
    launch: { workingDir: folder, args: args.map((arg, n) => places[n] ?? arg) },
  };
}

const isShared = (folder: string, root: string): boolean =>
  [
    '/',
    '/bin',
    '/etc',
    '/home',
    '/opt',
    '/root',
    '/srv',
    '/tmp',
    '/usr',
    '/var',
    homedir(),
    tmpdir(),
    root,
  ].includes(folder);

async function fileAt(path: string): Promise<string | undefined> {
  return stat(path).then(
    (found) => (found.isFile() ? path : undefined),
    () => undefined,
  );
}
