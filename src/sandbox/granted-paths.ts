import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { covers } from './places.js';
import type { SandboxField } from './sandbox.types.js';

/** A configuration asks, by a field or by its own place, for what no tool may have or this host cannot give. */
export class SandboxRefusal extends Error {
  override readonly name = 'SandboxRefusal';

  constructor(
    readonly field: SandboxField | 'own',
    reason: string,
  ) {
    super(reason);
  }
}

/** The host's processes and devices are granted to no tool. */
const neverAllowed = ['/proc', '/dev'];

/** @returns the path made absolute; it exists and is none of those that no tool gets */
export async function allowedPath(path: string, cwd: string): Promise<string> {
  const absolute = resolve(cwd, path);
  if (neverAllowed.some((never) => covers(never, absolute))) {
    throw new SandboxRefusal('allowedPaths', `${absolute} is never given to a tool`);
  }
  if (!(await stat(absolute).catch(() => undefined))) {
    throw new SandboxRefusal('allowedPaths', `${absolute} does not exist`);
  }
  return absolute;
}

/**
 * A granted folder grants all that lies in it: it must not hold the server's keys, nor the files beside them.
 * @param secrets folders of the gateway itself; real paths
 * @throws SandboxRefusal for a path that holds one of them, or lies in one
 */
export async function refuseSecrets(
  secrets: readonly string[],
  field: 'allowedPaths' | 'own',
  paths: readonly string[],
): Promise<void> {
  for (const path of paths) {
    const real = await realpath(path).catch(() => path);
    const secret = secrets.find((each) => covers(real, each) || covers(each, real));
    if (secret === undefined) continue;
    const how = covers(secret, real) ? 'lies in' : 'holds';
    throw new SandboxRefusal(
      field,
      `${path} ${how} the data directory of this server (TOOLKEEPER_DATA_DIR) and its keys: no tool is given it`,
    );
  }
}
