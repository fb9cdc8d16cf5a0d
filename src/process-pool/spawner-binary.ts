import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

/**
 * The spawner that native/build.sh made for this machine.
 * @param root the folder that holds native/
 * @returns undefined where there is none, or it may not be executed
 */
export function findSpawner(root: string): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const binary = join(root, 'native', 'bin', `spawner-${process.arch}`);
  try {
    accessSync(binary, constants.X_OK);
    return binary;
  } catch {
    return undefined;
  }
}
