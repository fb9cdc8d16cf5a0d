import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'secure-json-parse';
import { messageOf } from '../../common/message-of.js';
import { readRegularFile } from '../../common/regular-file.js';
import { wrong } from '../../rest/wrong-field.js';

const maxTextBytes = 4_194_304;

/** How the packages of one language are named by a bundle, and installed. */
export interface Ecosystem {
  readonly program: string;
  /** The installation, as logs show it. */
  readonly shown: string;
  /** The file in which a bundle names them. */
  readonly named: string;
  /** The folder that they lie in. */
  readonly folder: string;
  /** The files that the installation reads; nothing else of the bundle is shown to it. */
  readonly reads: readonly string[];
  readonly namesSome: (text: string) => boolean;
  /** Arguments that make it print its registries' URLs, then further hosts, one a line. */
  readonly ask: readonly string[];
  /** Tell it of these registries, since it reads no file of the server's user. */
  readonly variables: (registries: readonly string[]) => Record<string, string>;
  /** Arguments of the installation, which runs in a folder with the files that it reads. */
  readonly args: readonly string[];
}

const npm: Ecosystem = {
  program: 'npm',
  shown: 'npm ci',
  named: 'package.json',
  folder: 'node_modules',
  reads: ['package.json', 'package-lock.json'],
  namesSome: (text) => {
    const { dependencies, optionalDependencies } = jsonIn('package.json', text);
    return Object.keys({ ...dependencies, ...optionalDependencies }).length > 0;
  },
  ask: ['config', 'get', 'registry'],
  variables: ([registry = '']) => ({ npm_config_registry: registry, npm_config_cache: '.cache' }),
  // The hosts in a lock are its author's: packages come from the registry that npm is configured for.
  args: [
    ...['ci', '--ignore-scripts', '--no-bin-links', '--omit=dev', '--no-audit', '--no-fund', '--no-progress'],
    ...['--no-update-notifier', '--replace-registry-host=always'],
  ],
};

/** As `python3 -m pip`, but what it unpacks lies beside the requirements: that may be more than a tool's private folder holds. */
const runPip =
  'import os, runpy; os.environ["TMPDIR"] = os.getcwd(); runpy.run_module("pip", run_name="__main__")';
/** The public index keeps its files on a host of their own. */
const askPip = `
from pip._internal.commands import create_command
from pip._internal.models.index import PyPI
options, _ = create_command("install").parser.parse_args([])
print(options.index_url, *options.extra_index_urls)
if PyPI.netloc in options.index_url:
    print(PyPI.file_storage_domain)
`;

const pip: Ecosystem = {
  program: 'python3',
  shown: 'python3 -m pip install',
  named: 'requirements.txt',
  folder: 'site-packages',
  reads: ['requirements.txt'],
  namesSome: (text) => /^\s*[^\s#]/m.test(text),
  ask: ['-I', '-c', askPip],
  variables: ([index = '', ...others]) => ({ PIP_INDEX_URL: index, PIP_EXTRA_INDEX_URL: others.join(' ') }),
  args: [
    ...['-I', '-c', runPip, 'install', '--only-binary=:all:', '--no-compile', '--no-input', '--no-cache-dir'],
    ...['--disable-pip-version-check', '--progress-bar', 'off'],
    ...['--target', 'site-packages', '-r', 'requirements.txt'],
  ],
};

/** Folders of a bundle that hold packages. */
export const packageFolders: readonly string[] = [npm.folder, pip.folder];

/** @returns those of whose packages the bundle names some and brings none */
export async function missingPackages(bundle: string): Promise<Ecosystem[]> {
  const missing: Ecosystem[] = [];
  for (const ecosystem of [npm, pip]) {
    const text = await textOf(bundle, ecosystem.named);
    const isThere = await stat(join(bundle, ecosystem.folder)).catch(() => undefined);
    if (text !== '' && !isThere && ecosystem.namesSome(text)) missing.push(ecosystem);
  }
  return missing;
}

/** Empty where there is no such file. @throws Problem `invalid_request` where it is too large to be read at once */
export async function textOf(bundle: string, file: string): Promise<string> {
  try {
    return await readRegularFile(join(bundle, file), maxTextBytes);
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
