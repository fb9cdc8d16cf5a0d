import { stat } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { LaunchSettings } from '../commands/resolve-command.js';

export interface OwnPlace {
  /** The directory that is the tool's own, else its file alone; undefined where it has neither. */
  readonly own: string | undefined;
  /** How it is launched there. */
  readonly launch: Pick<LaunchSettings, 'args' | 'workingDir'>;
  /** Set by the server itself, so that what lies there is found. */
  readonly variables?: Readonly<Record<string, string>>;
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

/** The folder of a bundle is its tool's own. Node finds the packages beside a script by itself, Python has to be told. */
export async function bundlePlace({ args }: LaunchSettings, folder: string): Promise<OwnPlace> {
  const packages = join(folder, 'site-packages');
  const hasPackages = (await stat(packages).catch(() => undefined))?.isDirectory() === true;
  return {
    own: folder,
    launch: { args, workingDir: folder },
    ...(hasPackages && { variables: { PYTHONPATH: packages } }),
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
