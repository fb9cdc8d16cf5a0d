import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

export const smallDiskBytes = 2_097_152;

/** A file system of two mebibytes. @returns a function that takes it away; undefined where nothing can be mounted */
export function mountSmallDisk(folder: string): (() => void) | undefined {
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${smallDiskBytes},mode=700`, 'tmpfs', folder], {
      stdio: 'pipe',
    });
  } catch {
    return undefined;
  }
  // What went wrong before matters more than a mount that is gone already.
  return () => void spawnSync('umount', ['-l', folder]);
}
