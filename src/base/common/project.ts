import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of this npm package, with package.json: the same for src/, dist/ and the image. */
export function projectRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}

/** The members of package.json that the server and the command line read. */
interface Manifest {
  readonly version: string;
  readonly scripts: { readonly start: string };
}

/** Reads package.json. */
export const manifest = (): Manifest =>
  JSON.parse(readFileSync(join(projectRoot(), 'package.json'), 'utf8')) as Manifest;
