import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { covers, type Places } from './places.js';
import type { Command, HostAbilities, RunsAs } from './sandbox.types.js';

/** How many users of their own tools can have; migration 0023 bounds their numbers by it. */
const users = 65_536;

export const isToolUid = (uid: number, firstUid: number): boolean =>
  uid >= firstUid && uid < firstUid + users;

/** The access that a user must have to a path, links resolved or not. */
export interface Need {
  readonly path: string;
  /** `enter`: of a folder, what is below is reached by name; `run` and `write` mean reading as well. */
  readonly use: 'enter' | 'read' | 'run' | 'write';
}

const bits = { enter: 0o1, read: 0o4, run: 0o5, write: 0o6 } as const;
const refusals = {
  enter: 'is closed to',
  read: 'may not be read by',
  run: 'may not be run by',
  write: 'may not be written by',
} as const;

/** The user that everything runs as where tools have none of their own. @param why of a gateway that is root */
export function asGateway(why: string): RunsAs {
  const uid = process.getuid?.() ?? 0;
  return uid === 0 ? { uid, why } : { uid };
}

/**
 * Whom a tool runs as: a user of its own, where the gateway is root and nothing that it needs is closed to that user.
 */
export async function userOf(
  { toolUsers, bubblewrap, launcher, socat, missing }: HostAbilities,
  userNumber: number | undefined,
  command: Command,
  places: Places,
): Promise<RunsAs> {
  if (!toolUsers || userNumber === undefined) return asGateway(missing.toolUsers ?? 'it has no number');
  const uid = toolUsers.firstUid + userNumber;
  // Bubblewrap, and what it runs, come after the change of user.
  const inside = bubblewrap === undefined ? [] : [bubblewrap, launcher, socat];
  const programs = [command.command, ...inside].filter((path) => path !== undefined);
  const obstacle = await obstacleFor(uid, [
    { path: command.cwd, use: 'enter' },
    ...programs.map((path) => ({ path, use: 'run' }) as const),
    ...filesOf(command, places),
    // Private folders stand there.
    { path: tmpdir(), use: 'enter' },
  ]);
  return obstacle === undefined ? { uid } : asGateway(obstacle);
}

/** The granted paths, and those that the command names. */
function filesOf({ args, cwd }: Command, { places }: Places): Need[] {
  const granted = places.filter(({ access }) => access !== 'masked');
  const named = args.map((arg) => resolve(cwd, arg));
  return [
    ...named
      .filter((path) => granted.some((place) => covers(place.path, path)))
      .map((path) => ({ path, use: 'read' }) as const),
    ...granted.map(({ path, access }) => ({ path, use: access === 'rw' ? 'write' : 'read' }) as const),
  ];
}

/**
 * Looks at the mode bits of every path and of the folders above it; what is below a folder is not looked at.
 * @returns what stands in a user's way, the path and why, in one phrase; undefined: nothing does
 */
export async function obstacleFor(uid: number, needs: readonly Need[]): Promise<string | undefined> {
  const seen = new Map<string, Promise<Stats | undefined>>();
  const look = (path: string): Promise<Stats | undefined> => {
    const known = seen.get(path) ?? stat(path).catch(() => undefined);
    seen.set(path, known);
    return known;
  };
  for (const need of needs) {
    for (const { path, use } of stepsTo(need)) {
      const about = await look(path);
      if (!about || allows(about, uid, use)) continue;
      const below = path === need.path ? '' : `, and ${need.path} lies below it`;
      return `${path} ${refusals[use]} user ${uid}${below}`;
    }
  }
  return undefined;
}

function allows(about: Stats, uid: number, use: Need['use']): boolean {
  // A tool's group has the number of its user.
  const shift = about.uid === uid ? 6 : about.gid === uid ? 3 : 0;
  const wanted = about.isDirectory() ? bits[use] | bits.enter : bits[use];
  return ((about.mode >> shift) & wanted) === wanted;
}

/** The folders on the way, the outermost first, and the path itself. */
function stepsTo({ path, use }: Need): Need[] {
  const folder = dirname(path);
  return folder === path ? [{ path, use }] : [...stepsTo({ path: folder, use: 'enter' }), { path, use }];
}
