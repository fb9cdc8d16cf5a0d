import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const suffix = '.journal';

/** A journal is a folder of numbered segments; the one with the highest number is being written. */
export const segmentPath = (folder: string, number: number): string =>
  join(folder, `${String(number).padStart(10, '0')}${suffix}`);

/** In the order of their writing. */
export function segmentsIn(folder: string): number[] {
  return readdirSync(folder)
    .filter((name) => /^\d{10}\.journal$/.test(name))
    .map((name) => Number.parseInt(name, 10))
    .sort((a, b) => a - b);
}
