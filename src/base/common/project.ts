import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that holds package.json: the same for src/, dist/ and the image. */
export function projectRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}

/** The part of package.json that the project itself asks for. */
interface Manifest {
  readonly version: string;
  readonly scripts: { readonly start: string };
}

export const manifest = (): Manifest =>
  JSON.parse(readFileSync(join(projectRoot(), 'package.json'), 'utf8')) as Manifest;
