import { Inject, Injectable } from '@nestjs/common';
import { execFile } from 'node:child_process';
import { copyFile, cp, lstat, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'secure-json-parse';
import { messageOf } from '../../common/message-of.js';
import { APP_CONFIG, type AppConfig, hostVariable } from '../../config/app-config.js';
import { launch } from '../../process-pool/launcher.js';
import type { ProcessSpec } from '../../process-pool/pool.types.js';
import { Sandbox, SandboxRefusal } from '../../sandbox/sandbox.js';
import { findProgram } from '../commands/resolve-command.js';
import { CustomToolsRepository } from '../entity/custom-tools.repository.js';
import { wrong } from '../../rest/wrong-field.js';
import { readRegularFile } from '../../common/regular-file.js';

const logChars = 65_536;
const shownChars = 2_000;
const askTimeoutMs = 30_000;
const memoryMB = 1_024;
/** Variables that name registries to npm and pip, or the files that do. */
const registryVariables = [
  ...['PATH', 'HOME', 'LANG', 'npm_config_registry', 'NPM_CONFIG_REGISTRY'],
  ...['npm_config_userconfig', 'NPM_CONFIG_USERCONFIG', 'npm_config_globalconfig', 'NPM_CONFIG_GLOBALCONFIG'],
  ...['PIP_CONFIG_FILE', 'PIP_INDEX_URL', 'PIP_EXTRA_INDEX_URL'],
];
/** Certificates that the operator's registries need. */
const certificateVariables = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'PIP_CERT'];

/**
 * Installs the packages that bundles name and do not bring: npm and pip run in the sandbox, as a user of their own, and
 * reach nothing but the registry.
 */
@Injectable()
export class PackageInstaller {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'bundles'>,
    private readonly sandbox: Sandbox,
    private readonly tools: CustomToolsRepository,
  ) {}

  /**
   * Puts what is missing into the bundle.
   * @returns the output of npm and pip; null if nothing was missing
   * @throws Problem `invalid_request` that names the file of the bundle that is in the way
   */
  async install(bundle: string): Promise<string | null> {
    const missing = await missingPackages(bundle);
    const [first] = missing;
    if (!first) return null;
    if (!this.config.bundles.installs) {
      const why = `names packages, and this server installs none: bring them along as ${first.folder}, or set BUNDLE_INSTALLS=true`;
      throw wrong(`/${first.named}`, why);
    }
    const logs: string[] = [];
    for (const ecosystem of missing) logs.push(await this.installOne(ecosystem, bundle));
    return logs.join('\n');
  }

  private async installOne(ecosystem: Ecosystem, bundle: string): Promise<string> {
    const { named, folder, reads, shown: command } = ecosystem;
    const user = await this.tools.newUserNumber();
    const place = await this.sandbox.privateFolder(user);
    try {
      for (const file of reads)
        await copyFile(join(bundle, file), join(place, file)).catch((error: unknown) => {
          if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        });
      const { log, failure } = await this.run(ecosystem, place, user);
      if (failure !== undefined) {
        const end = log.trim().slice(-shownChars);
        throw wrong(`/${named}`, `names packages that could not be installed: ${command} ${failure}\n${end}`);
      }
      const made = join(place, folder);
      const isFolder = (await lstat(made).catch(() => undefined))?.isDirectory() === true;
      if (isFolder) await cp(made, join(bundle, folder), { recursive: true, verbatimSymlinks: true });
      return `$ ${command}\n${log}`;
    } catch (error) {
      throw error instanceof SandboxRefusal
        ? wrong(`/${named}`, `names packages: npm or pip ${error.message}`)
        : error;
    } finally {
      await rm(place, { recursive: true, force: true });
    }
  }

  private async run(ecosystem: Ecosystem, place: string, user: number): Promise<Run> {
    const { named, folder, args } = ecosystem;
    const program = await findProgram(ecosystem.program, (path) => this.sandbox.whyNotRun(user, path));
    const { hosts, variables } = await registryOf(ecosystem, program);
    const env = {
      PATH: hostVariable('PATH') ?? '',
      LANG: 'C.UTF-8',
      ...variables,
      ...(await certificatesIn(place)),
    };
    const start = { command: program, args, cwd: place, env };
    const demands = { allowedPaths: ['.'], canWriteFiles: true, allowedHosts: hosts, maxMemoryMB: memoryMB };
    const { notEnforced, notes } = this.sandbox.effective(demands);
    if (notEnforced.includes('allowedHosts'))
      throw wrong(
        `/${named}`,
        `names packages, which are installed in a sandbox that reaches nothing but their registry; here that ${notes.allowedHosts}. Bring them along as ${folder}`,
      );
    const confined = await this.sandbox.confine(demands, start, place, user);
    try {
      return await runToEnd(confined.command, this.config.bundles.installTimeoutMs, (pid) =>
        confined.ended(pid),
      );
    } finally {
      await confined.dispose();
    }
  }
}

/** Asks npm or pip for the registries that they are configured for, in the server's own surroundings. */
async function registryOf({ named, ask, variables }: Ecosystem, program: string) {
  const granted = registryVariables.map((name) => [name, hostVariable(name)] as const);
  const env = Object.fromEntries(granted.filter(([, value]) => value !== undefined));
  const asked = promisify(execFile)(program, [...ask], { cwd: '/', env, timeout: askTimeoutMs });
  const { stdout } = await asked.catch((error: unknown) => {
    throw wrong(`/${named}`, `names packages, and their registry is not known: ${messageOf(error)}`);
  });
  const [urls = '', ...others] = stdout.trim().split('\n');
  const registries = urls.split(' ');
  const hosts = registries.map((url) => {
    const { hostname, port, protocol } = new URL(url);
    return `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
  });
  return { hosts: [...hosts, ...others], variables: variables(registries) };
}

/** Copies of them, so that the files themselves need not be granted. */
async function certificatesIn(place: string): Promise<Record<string, string>> {
  const copies: Record<string, string> = {};
  for (const name of certificateVariables) {
    const file = hostVariable(name);
    if (file === undefined || !(await stat(file).catch(() => undefined))?.isFile()) continue;
    copies[name] = join(place, `${name}-${basename(file)}`);
    await copyFile(file, copies[name]);
  }
  return copies;
}

interface Run {
  /** The end of its output. */
  readonly log: string;
  readonly failure?: string;
}

function runToEnd(spec: ProcessSpec, timeoutMs: number, ended: (pid: number) => void): Promise<Run> {
  const { promise, resolve } = Promise.withResolvers<Run>();
  let log = '';
  let isLate = false;
  const child = launch(spec);
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (log = (log + chunk.toString()).slice(-logChars)));
  child.stdin.on('error', () => undefined).end();
  const timer = setTimeout(() => {
    isLate = true;
    child.kill('SIGKILL');
  }, timeoutMs);
  child.on('error', (error) => {
    clearTimeout(timer);
    resolve({ log, failure: `could not be started: ${error.message}` });
  });
  child.on('exit', (code, signal) => {
    clearTimeout(timer);
    if (child.pid !== undefined) ended(child.pid);
    if (isLate) resolve({ log, failure: `took longer than ${timeoutMs} ms` });
    else if (code === 0) resolve({ log });
    else resolve({ log, failure: `ended with ${signal ?? `exit code ${code}`}` });
  });
  return promise;
}

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

/** Runs `python3 -m pip` so that it unpacks beside the requirements: packages may be larger than a tool's private folder. */
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
