import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const suffix = '.journal';

/** A journal is a folder of numbered segments; the one with the highest number is being written. */
export const segmentPath = (folder: string, number: number): string =>
  join(folder, `${String(number).padStart(10, '0')}${suffix}`);

/** Ten digits, and more of them where ten do not suffice; a name of zeros before that would be another file's. */
const segmentName = /^(\d{10}|[1-9]\d{10,15})\.journal$/;

/** In the order of their writing. A folder or pipe that bears such a name is no segment. */
export function segmentsIn(folder: string): number[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && segmentName.test(entry.name))
    .map(({ name }) => Number.parseInt(name, 10))
    .filter(Number.isSafeInteger)
    .sort((a, b) => a - b);
}
