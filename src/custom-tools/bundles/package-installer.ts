import { Inject, Injectable } from '@nestjs/common';
import { execFile } from 'node:child_process';
import { copyFile, cp, lstat, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../../common/message-of.js';
import { APP_CONFIG, type AppConfig, hostVariable } from '../../config/app-config.js';
import { launch } from '../../process-pool/launcher.js';
import type { ProcessSpec } from '../../process-pool/pool.types.js';
import { Sandbox, SandboxRefusal } from '../../sandbox/sandbox.js';
import { findProgram } from '../commands/resolve-command.js';
import { CustomToolsRepository } from '../entity/custom-tools.repository.js';
import { wrong } from '../../rest/wrong-field.js';
import { type Ecosystem, missingPackages } from './ecosystems.js';

const logChars = 65_536;
const shownChars = 2_000;
const askTimeoutMs = 30_000;
const memoryMB = 1_024;
/** By them npm and pip are told of registries, and of the files that tell them. */
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
    const confined = await this.sandbox.confine(demands, start, place, user);
    try {
      const { notEnforced, notes } = confined.effective;
      if (notEnforced.includes('allowedHosts'))
        throw wrong(
          `/${named}`,
          `names packages, which are installed in a sandbox that reaches nothing but their registry; here that ${notes.allowedHosts}. Bring them along as ${folder}`,
        );
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
