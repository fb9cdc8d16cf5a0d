import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'secure-json-parse';
import { messageOf } from '../../../base/common/message-of.js';
import { readRegularFile } from '../../../base/common/regular-file.js';
import { wrong } from '../../../web/rest/wrong-field.js';

const maxTextBytes = 4_194_304;

/** The file that names a tool's packages, the folder that holds them, and whether it names any. */
const ecosystems = [
  {
    file: 'package.json',
    folder: 'node_modules',
    namesSome: (text: string): boolean => {
      const { dependencies, optionalDependencies } = jsonIn('package.json', text);
      return Object.keys({ ...dependencies, ...optionalDependencies }).length > 0;
    },
  },
  {
    file: 'requirements.txt',
    folder: 'site-packages',
    namesSome: (text: string): boolean => /^\s*[^\s#]/m.test(text),
  },
];

/**
 * Refuses a bundle that names packages and does not contain them: the server installs none.
 * @throws Problem `invalid_request` that names the file of the bundle
 */
export async function refuseMissingPackages(bundle: string): Promise<void> {
  for (const { file, folder, namesSome } of ecosystems) {
    const text = await textOf(bundle, file);
    const isThere = await stat(join(bundle, folder)).catch(() => undefined);
    if (text === '' || isThere || !namesSome(text)) continue;
    throw wrong(
      `/${file}`,
      `names packages, and there is no ${folder} beside it: \`toolkeeper tool bundle <folder>\` installs them there`,
    );
  }
}

/** Empty if there is no such file. @throws Problem `invalid_request` if it is too large to be read at once */
export async function textOf(bundle: string, file: string, maxBytes = maxTextBytes): Promise<string> {
  try {
    return await readRegularFile(join(bundle, file), maxBytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw wrong(`/${file}`, `cannot be read: ${messageOf(error).replace(bundle, '.')}`);
  }
}

function jsonIn(
  file: string,
  text: string,
): { readonly dependencies?: object; readonly optionalDependencies?: object } {
  try {
    return (parse(text) as object | null) ?? {};
  } catch {
    throw wrong(`/${file}`, 'is no JSON');
  }
}
