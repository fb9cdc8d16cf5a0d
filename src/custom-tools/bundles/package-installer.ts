import { Inject, Injectable } from '@nestjs/common';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { messageOf } from '../../common/message-of.js';
import { APP_CONFIG, type AppConfig, hostVariable } from '../../config/app-config.js';
import { wrong } from '../entity/wrong-field.js';
import { type Ecosystem, missingPackages, refuseInstallScripts, textOf } from './packages.js';

const logChars = 65_536;
const toldChars = 2_000;
/** By them npm and pip are told of registries, of how to reach them, and of what opens them. */
const ofRegistries = [
  ...['PATH', 'HOME', 'LANG', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
  ...['NPM_CONFIG_REGISTRY', 'npm_config_registry', 'NPM_CONFIG_USERCONFIG', 'npm_config_userconfig'],
  ...['NPM_CONFIG_GLOBALCONFIG', 'npm_config_globalconfig', 'NPM_TOKEN', 'NODE_AUTH_TOKEN'],
  ...['PIP_CONFIG_FILE', 'PIP_INDEX_URL', 'PIP_EXTRA_INDEX_URL', 'PIP_TRUSTED_HOST', 'PIP_CERT'],
];

/** Installs the packages that bundles name and do not bring, without running anything of them. */
@Injectable()
export class PackageInstaller {
  constructor(@Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'bundles'>) {}

  /**
   * Puts what is missing into the bundle.
   * @param work an empty folder, which is no part of the bundle
   * @returns what the installation said; null where nothing was missing
   * @throws Problem `invalid_request` that names the file of the bundle, or the package, that is in the way
   */
  async install(bundle: string, work: string): Promise<string | null> {
    const missing = await missingPackages(bundle);
    const [first] = missing;
    if (!first) return null;
    if (!this.config.bundles.installs) {
      const why = `names packages, and this server installs none: bring them along as ${first.folder}, or set BUNDLE_INSTALLS=true`;
      throw wrong(`/${first.named}`, why);
    }
    const logs: string[] = [];
    for (const ecosystem of missing) logs.push(await this.installOne(ecosystem, bundle, work));
    return logs.join('\n');
  }

  private async installOne(ecosystem: Ecosystem, bundle: string, work: string): Promise<string> {
    const { program, reads, folder, named } = ecosystem;
    ecosystem.check(await Promise.all(reads.map((file) => textOf(bundle, file))));
    const place = join(work, program);
    await mkdir(place);
    for (const file of reads) await copyFile(join(bundle, file), join(place, file));
    const target = join(place, folder);
    const args = ecosystem.args(place, target);
    const { log, failure } = await this.run(program, args, place);
    if (failure !== undefined) {
      const told = log.trim().slice(-toldChars);
      throw wrong(`/${named}`, `names packages that could not be installed: ${program} ${failure}\n${told}`);
    }
    await refuseInstallScripts(place);
    await rename(target, join(bundle, folder));
    return `$ ${program} ${args.map((arg) => arg.replace(place, '.')).join(' ')}\n${log}`;
  }

  /** @returns what it said, the last of it, and how it failed */
  private async run(
    program: string,
    args: readonly string[],
    cwd: string,
  ): Promise<{ readonly log: string; readonly failure?: string }> {
    const granted = ofRegistries.flatMap((name) => {
      const value = hostVariable(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    const env = { ...Object.fromEntries(granted), TMPDIR: cwd };
    // A group of its own: what it starts ends with it.
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = tailOf(child.stdout, child.stderr);
    const { installTimeoutMs } = this.config.bundles;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      endGroup(child.pid);
    }, installTimeoutMs);
    try {
      const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
      if (isLate) return { log: said(), failure: `took longer than ${installTimeoutMs} ms` };
      return { log: said(), ...(code !== 0 && { failure: `ended with ${signal ?? `exit code ${code}`}` }) };
    } catch (error) {
      return { log: said(), failure: `could not be started: ${messageOf(error)}` };
    } finally {
      clearTimeout(timer);
    }
  }
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

/** The last of what the streams say. */
function tailOf(...streams: readonly Readable[]): () => string {
  let text = '';
  for (const stream of streams)
    stream.setEncoding('utf8').on('data', (chunk: string) => (text = (text + chunk).slice(-logChars)));
  return () => text;
}
