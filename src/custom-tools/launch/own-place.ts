import { stat } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { covers } from '../../sandbox/places.js';
import type { LaunchSettings } from '../commands/resolve-command.js';
import { isProgram } from './program-files.js';

export interface OwnPlace {
  /** The directory that is the tool's own, else its file alone; undefined where it has neither. */
  readonly own: string | undefined;
  /** How it is launched there. */
  readonly launch: Pick<LaunchSettings, 'args' | 'workingDir'>;
  /** Set by the server itself, so that what lies there is found. */
  readonly variables?: Readonly<Record<string, string>>;
  /** The member that names the directory where no program of the tool stands in it: it is a grant like any other. */
  readonly claimedBy?: string;
}

/**
 * A tool's own directory is its `workingDir`, else the folder of the first file among its command and its arguments,
 * where it then runs as well. Relative arguments mean files below `root` in that case, so they are made absolute.
 * @param script the index of the argument that is an interpreter's script
 */
export async function ownPlace(
  tool: LaunchSettings,
  script: number | undefined,
  root: string,
  installed: string,
): Promise<OwnPlace> {
  const { workingDir, args, command } = tool;
  const base = resolve(root, workingDir ?? '.');
  const places = await Promise.all(args.map((arg) => fileAt(resolve(base, arg))));
  const program = command.includes('/') ? await fileAt(resolve(base, command)) : undefined;
  const looks = await Promise.all(places.map(async (file) => file !== undefined && (await isProgram(file))));
  const programs = [program, ...places.filter((_, n) => looks[n] || n === script)];
  if (workingDir !== null) {
    const stands = programs.some((file) => file !== undefined && covers(base, file));
    const isOwn = covers(installed, base) || (stands && !isShared(base, root));
    return { own: base, launch: { workingDir, args }, ...(!isOwn && { claimedBy: '/workingDir' }) };
  }
  const first = places.find((place) => place !== undefined) ?? program;
  if (first === undefined) return { own: undefined, launch: { workingDir, args } };
  const folder = dirname(first);
  return {
    // A script that lies about in a home directory does not open all of it.
    own: isShared(folder, root) ? first : folder,
    launch: { workingDir: folder, args: args.map((arg, n) => places[n] ?? arg) },
    ...(!programs.includes(first) && { claimedBy: `/args/${places.indexOf(first)}` }),
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
