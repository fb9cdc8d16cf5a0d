import type { Server } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { stat } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { CommandRules } from '../commands/command-rules.js';
import { resolveCommand, type LaunchSettings, type ResolvedCommand } from '../commands/resolve-command.js';
import { Sandbox, SandboxRefusal } from '../../sandbox/sandbox.js';
import { BundleFolders } from '../bundles/bundle-folders.js';
import { Redactor } from '../../secrets/redactor.js';
import { type PlainEnv, EnvCipher, SecretUnreadable } from '../../secrets/env-cipher.js';
import { filledHeaders } from '../entity/settings-rules.js';
import { mcpDialect } from '../../mcp-client/mcp-dialect.js';
import { remoteLauncher, type RemoteLimits } from '../../mcp-client/remote-server.js';
import { portOf } from '../../../base/outbound/addresses.js';
import type { Dialect } from '../../process-pool/pool.types.js';
import type { Launcher } from '../../process-pool/launcher.js';
import { asWrongCommand, notGranted, wrong } from '../../../web/rest/wrong-field.js';
import { covers } from '../../sandbox/mounts.js';
import { isProgram } from './program-files.js';

/** How a tool is started, and what of it must not be shown. */
export interface PreparedLaunch extends ResolvedCommand {
  /** The directory that is the tool's own, or its file alone. */
  readonly place: string | undefined;
  readonly redactor: Redactor;
  /** Dialect of an MCP server; absent: the protocol is that of docs/tools/protocol.md. */
  readonly dialect?: Dialect;
  /** Starts sessions with a tool that runs elsewhere: no process is started. */
  readonly remote?: Launcher;
}

/** Prepares the start of a tool's processes: the one place where stored secrets are opened. */
@Injectable()
export class LaunchPreparation {
  private readonly rules: CommandRules;
  private readonly remote: RemoteLimits;

  constructor(
    @Inject(APP_CONFIG)
    private readonly config: Pick<AppConfig, 'bundles' | 'commands' | 'customTools' | 'root'>,
    private readonly box: EnvCipher,
    private readonly bundles: BundleFolders,
    private readonly sandbox: Sandbox,
    http: HttpAdapterHost,
  ) {
    this.rules = new CommandRules(config.commands);
    this.remote = {
      maxBytes: config.customTools.maxOutputBytes,
      linesPerSecond: config.customTools.outputLinesPerSecond,
      ownPort: () => portOf(http.httpAdapter.getHttpServer() as Server),
    };
  }

  /**
   * @param starts false: the files of its bundle are not looked at
   * @throws Problem `invalid_request` that names the field: a value whose key is missing is `/env`
   */
  async prepare(tool: LaunchSettings, starts = true): Promise<PreparedLaunch> {
    const own = this.open(tool);
    if (tool.url !== null)
      return { ...this.elsewhere(tool.url, tool.headers, own), ...dialectOf(tool, this.config.root) };
    const { bundle } = tool;
    const place = bundle
      ? await bundlePlace(tool, await this.bundles.folderOf(bundle, starts))
      : await ownPlace(tool, this.rules.scriptOf(tool), this.config.root, this.config.customTools.dir);
    // A command in a bundle is named by the bundle: its file lies elsewhere on each replica.
    const pinned = bundle ? { ...tool, pinnedCommand: null } : tool;
    const mayBringCode = bundle !== null && this.config.bundles.maxBytes > 0;
    const whyNotRun = (program: string): Promise<string | undefined> =>
      this.sandbox.whyNotRun(tool.userNumber, program);
    const { root } = this.config;
    const there = { ...place.launch, mayBringCode };
    const launch = await resolveCommand(pinned, there, own, root, this.rules, whyNotRun).catch(
      (error: unknown) => {
        throw asWrongCommand(error);
      },
    );
    const { own: claimed, claimedBy } = place;
    if (claimed !== undefined && claimedBy !== undefined)
      await this.sandbox.checkGrantable(claimed).catch((error: unknown) => {
        throw error instanceof SandboxRefusal ? notGranted(claimedBy, error.message) : error;
      });
    const spec = { ...launch.spec, env: { ...launch.spec.env, ...place.variables } };
    return { ...launch, spec, place: place.own, redactor: new Redactor(own), ...dialectOf(tool, spec.cwd) };
  }

  private elsewhere(address: string, headers: LaunchSettings['headers'], own: PlainEnv): PreparedLaunch {
    const url = new URL(address);
    const spec = { command: url.href, args: [], cwd: this.config.root, env: {} };
    const remote = remoteLauncher({ url, headers: filledHeaders(headers, own) }, this.remote);
    return { spec, realPath: url.href, place: undefined, redactor: new Redactor(own), remote };
  }

  private open({ id, env }: LaunchSettings): PlainEnv {
    try {
      return this.box.open(id, env);
    } catch (error) {
      if (error instanceof SecretUnreadable) throw wrong('/env', `cannot be read: ${error.message}`);
      throw error;
    }
  }
}

/** An MCP server that asks for its roots gets the paths that it was granted. */
function dialectOf({ protocol, sandbox, permissions }: LaunchSettings, workingDir: string) {
  if (protocol !== 'mcp') return {};
  const granted = permissions?.canReadFiles === false ? [] : (sandbox?.allowedPaths ?? []);
  return { dialect: mcpDialect(granted.map((path) => resolve(workingDir, path))) };
}

interface OwnPlace {
  /** The directory that is the tool's own, else its file alone; undefined if it has neither. */
  readonly own: string | undefined;
  /** How it is launched there. */
  readonly launch: Pick<LaunchSettings, 'args' | 'workingDir'>;
  /** Set by the server itself, so that what lies there is found. */
  readonly variables?: Readonly<Record<string, string>>;
  /** The member that names the directory, if it contains no program of the tool and therefore needs a grant. */
  readonly claimedBy?: string;
}

/**
 * A tool's own directory is its `workingDir`, else the folder of the first file among its command and its arguments,
 * where it then runs as well. Relative arguments mean files below `root` in that case, so they are made absolute.
 * @param script the index of the argument that is an interpreter's script
 */
export async function ownPlace(
  tool: LaunchSettings,
  script: number | undefined,
  root: string,
  installed: string,
): Promise<OwnPlace> {
  const { workingDir, args, command } = tool;
  const base = resolve(root, workingDir ?? '.');
  const places = await Promise.all(args.map((arg) => fileAt(resolve(base, arg))));
  const program = command.includes('/') ? await fileAt(resolve(base, command)) : undefined;
  const looks = await Promise.all(places.map(async (file) => file !== undefined && (await isProgram(file))));
  const programs = [program, ...places.filter((_, n) => looks[n] || n === script)];
  if (workingDir !== null) {
    const stands = programs.some((file) => file !== undefined && covers(base, file));
    const isOwn = covers(installed, base) || (stands && !isShared(base, root));
    return { own: base, launch: { workingDir, args }, ...(!isOwn && { claimedBy: '/workingDir' }) };
  }
  const first = places.find((place) => place !== undefined) ?? program;
  if (first === undefined) return { own: undefined, launch: { workingDir, args } };
  const folder = dirname(first);
  return {
    // A script that lies about in a home directory does not open all of it.
    own: isShared(folder, root) ? first : folder,
    launch: { workingDir: folder, args: args.map((arg, n) => places[n] ?? arg) },
    ...(!programs.includes(first) && { claimedBy: `/args/${places.indexOf(first)}` }),
  };
}

/** The folder of a bundle belongs to its tool. Python needs PYTHONPATH to find packages there; Node does not. */
export async function bundlePlace({ args }: LaunchSettings, folder: string): Promise<OwnPlace> {
  const packages = join(folder, 'site-packages');
  const hasPackages = (await stat(packages).catch(() => undefined))?.isDirectory() === true;
  return {
    own: folder,
    launch: { args, workingDir: folder },
    ...(hasPackages && { variables: { PYTHONPATH: packages } }),
  };
}

const isShared = (folder: string, root: string): boolean =>
  [
    '/',
    '/bin',
    '/etc',
    '/home',
    '/opt',
    '/root',
    '/srv',
    '/tmp',
    '/usr',
    '/var',
    homedir(),
    tmpdir(),
    root,
  ].includes(folder);

async function fileAt(path: string): Promise<string | undefined> {
  return stat(path).then(
    (found) => (found.isFile() ? path : undefined),
    () => undefined,
  );
}
