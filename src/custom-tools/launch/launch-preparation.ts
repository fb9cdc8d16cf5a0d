import type { Server } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { CommandRules } from '../commands/command-rules.js';
import { resolveCommand, type LaunchSettings, type ResolvedCommand } from '../commands/resolve-command.js';
import { bundlePlace, ownPlace } from './own-place.js';
import { Sandbox, SandboxRefusal } from '../../sandbox/sandbox.js';
import { BundleFolders } from '../bundles/bundle-folders.js';
import { Redactor } from '../../secrets/redactor.js';
import { type PlainEnv, EnvCipher, SecretUnreadable } from '../../secrets/env-cipher.js';
import { filledHeaders } from '../entity/remote-settings.js';
import { remoteLauncher, type RemoteLimits } from '../../mcp/client/remote-server.js';
import { portOf } from '../../outbound/addresses.js';
import type { Launcher } from '../../process-pool/launcher.js';
import { asWrongCommand, notGranted, wrong } from '../../rest/wrong-field.js';

/** How a tool is started, and what of it must not be shown. */
export interface PreparedLaunch extends ResolvedCommand {
  /** The directory that is the tool's own, or its file alone. */
  readonly place: string | undefined;
  readonly redactor: Redactor;
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
    if (tool.url !== null) return this.elsewhere(tool.url, tool.headers, own);
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
    return { ...launch, spec, place: place.own, redactor: new Redactor(own) };
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
