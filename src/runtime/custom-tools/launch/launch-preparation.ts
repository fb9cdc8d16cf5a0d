import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Server } from 'node:net';
import { resolve } from 'node:path';
import { Problem } from '../../../base/common/errors.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { portOf } from '../../../base/outbound/addresses.js';
import { notGranted, wrong } from '../../../web/rest/wrong-field.js';
import { mcpDialect } from '../../mcp-client/mcp-dialect.js';
import { type McpPeer, newPeer } from '../../mcp-client/mcp-eras.js';
import type { Credential } from '../../mcp-client/credential.js';
import { remoteLauncher, type RemoteLimits } from '../../mcp-client/remote-server.js';
import type { Launcher } from '../../process-pool/launcher.js';
import type { Dialect } from '../../process-pool/pool.types.js';
import { SandboxRefusal } from '../../sandbox/path-access.js';
import { Sandbox } from '../../sandbox/sandbox.js';
import { EnvCipher, type PlainEnv, secretsOf, SecretUnreadable } from '../../secrets/env-cipher.js';
import { Redactor } from '../../secrets/redactor.js';
import { Accounts, type AccountServer } from '../accounts/accounts.js';
import { outboundFetch } from '../accounts/outbound-fetch.js';
import { tokenPlaceholder, withoutSignIn } from '../accounts/process-token.js';
import { ProcessAccounts, ServerAccounts, SharedCredential } from '../accounts/server-credentials.js';
import { BundleFolders } from '../bundles/bundle-folders.js';
import { CommandRules, resolveCommand, type ResolvedCommand } from '../commands/resolve-command.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { filledHeaders } from '../entity/settings-rules.js';
import { locateBundle, locateProgram, throwAsProblem } from './program-files.js';

/** How a tool is started, with the redactor of its secrets. */
export interface PreparedLaunch extends ResolvedCommand {
  /** The tool's own directory or its single file, which its processes may read; undefined if it has neither. */
  readonly ownPath: string | undefined;
  readonly redactor: Redactor;
  /** Dialect of an MCP server; absent: the protocol of docs/tools/protocol.md. */
  readonly dialect?: Dialect;
  /** Starts sessions with a remote tool, which has no process here. */
  readonly remote?: Launcher;
  /** Accounts of the callers, for a tool that requires them. */
  readonly accounts?: ServerAccounts;
  readonly remoteFor?: (user: string) => Launcher;
}

/** Prepares the start of a tool's processes. Only this class decrypts stored secrets. */
@Injectable()
export class LaunchPreparation {
  private readonly rules: CommandRules;
  private readonly remoteLimits: RemoteLimits;

  constructor(
    @Inject(APP_CONFIG)
    private readonly config: Pick<
      AppConfig,
      'builtinTools' | 'bundles' | 'commands' | 'customTools' | 'root'
    >,
    private readonly accounts: Accounts,
    private readonly cipher: EnvCipher,
    private readonly bundles: BundleFolders,
    private readonly sandbox: Sandbox,
    http: HttpAdapterHost,
  ) {
    this.rules = new CommandRules(config.commands);
    this.remoteLimits = {
      maxBytes: config.customTools.maxOutputBytes,
      linesPerSecond: config.customTools.outputLinesPerSecond,
      ownPort: () => portOf(http.httpAdapter.getHttpServer() as Server),
    };
  }

  /**
   * Resolves the command of a tool or, for a remote one, how to connect to it.
   * @param verifyBundle whether to compare the files of its bundle with the bundle's hash, as before a start
   * @throws Problem `invalid_request` that names the field, such as `/env` if a stored value cannot be decrypted
   */
  async prepare(tool: CustomTool, { verifyBundle = true } = {}): Promise<PreparedLaunch> {
    const ownEnv = this.decryptEnv(tool);
    const redactor = new Redactor(secretsOf(tool.env, ownEnv));
    if (tool.url !== null) return this.prepareRemote(new URL(tool.url), tool, ownEnv, redactor);
    const { bundle } = tool;
    const accounts = tool.credentials === 'none' ? undefined : this.processAccounts(tool, ownEnv);
    const env = accounts ? withoutSignIn(ownEnv) : ownEnv;
    const { root, customTools } = this.config;
    const location = bundle
      ? await locateBundle(tool, await this.bundles.folderOf(bundle, { verify: verifyBundle }))
      : await locateProgram(tool, this.rules.scriptOf(tool), root, customTools.dir);
    const command = await resolveCommand({
      // A bundle has another folder on each replica, so the path of its command is not compared.
      tool: bundle ? { ...tool, pinnedCommand: null } : tool,
      location: location.launch,
      // BUNDLE_MAX_BYTES=0 refuses code in bundles, stored ones included.
      mayBringCode: bundle !== null && this.config.bundles.maxBytes > 0,
      ownEnv: env,
      root,
      rules: this.rules,
      whyNotRun: (program) => this.sandbox.whyNotRun(tool.userNumber, program),
    }).catch(throwAsProblem);
    // After the command, because the operator would grant a directory in vain if its command cannot run.
    const { ownPath, needsGrantFor } = location;
    if (ownPath !== undefined && needsGrantFor !== undefined) await this.checkGrant(ownPath, needsGrantFor);
    const spec = { ...command.spec, env: { ...command.spec.env, ...location.variables } };
    return {
      ...command,
      spec,
      ownPath,
      redactor,
      ...(tool.protocol === 'mcp' && { dialect: dialectOf(tool, spec.cwd) }),
      ...(accounts && { accounts }),
    };
  }

  /** The server as OAuth clients need it: id, URL, decrypted environment and `fetch`. */
  accountServer(tool: CustomTool, env = this.decryptEnv(tool)): AccountServer {
    const { OAUTH_RESOURCE: resource = tool.url, OAUTH_ISSUER: issuer } = env;
    const url = URL.parse(tool.url ?? resource ?? issuer ?? '');
    if (!url || !/^https?:$/.test(url.protocol))
      throw wrong('/env', 'must hold OAUTH_RESOURCE, or OAUTH_ISSUER alone, as an http or https URL');
    const urls = [url.href, issuer, env['OAUTH_EXCHANGE_URL']];
    const fetch = outboundFetch(urls, this.config.builtinTools.outbound, this.remoteLimits.ownPort);
    // A server without a resource is known by its issuer.
    return { id: tool.id, name: tool.name, url, env, fetch, ...(resource === null && { issuer }) };
  }

  /** Checks the operator's grant of a directory. @param pointer names it @throws Problem with status 422 */
  private async checkGrant(directory: string, pointer: string): Promise<void> {
    await this.sandbox.checkGrantable(directory).catch((error: unknown) => {
      throw error instanceof SandboxRefusal ? notGranted(pointer, error.message) : error;
    });
  }

  /** Accounts of the callers, for a tool whose processes each get the token of one caller. */
  private processAccounts(tool: CustomTool, env: PlainEnv): ProcessAccounts {
    if (!Object.values(env).some((value) => value.includes(tokenPlaceholder)))
      throw wrong(
        '/env',
        `must hold a variable with ${tokenPlaceholder}, for the access token of the caller`,
      );
    return new ProcessAccounts(this.accounts, this.accountServer(tool, env));
  }

  private prepareRemote(url: URL, tool: CustomTool, env: PlainEnv, redactor: Redactor): PreparedLaunch {
    // No process: the URL stands for the command, where launches are compared and shown.
    const spec = { command: url.href, args: [], cwd: this.config.root, env: {} };
    // A text that was cut off may end with a part of a secret.
    const redact = (text: string): string => redactor.clean(text, { end: true });
    const peer = newPeer('modern');
    const headers = filledHeaders(tool.headers, env);
    const launcher = (credential?: Credential): Launcher =>
      remoteLauncher({ url, headers, redact, credential }, this.remoteLimits, peer);
    const server = this.accountServer(tool, env);
    const accounts = tool.credentials === 'user' ? new ServerAccounts(this.accounts, server) : undefined;
    const shared = tool.credentials === 'shared' ? new SharedCredential(server) : undefined;
    const remote = launcher(shared);
    return {
      ...(accounts && { accounts, remoteFor: (user) => launcher(accounts.credentialOf(user)) }),
      spec,
      realPath: url.href,
      ownPath: undefined,
      redactor,
      remote,
      dialect: dialectOf(tool, spec.cwd, peer),
    };
  }

  /** Decrypts the environment of a tool. @throws Problem `invalid_request` for `/env` */
  private decryptEnv({ id, env }: CustomTool): PlainEnv {
    try {
      return this.cipher.open(id, env);
    } catch (error) {
      if (error instanceof SecretUnreadable) throw wrong('/env', `cannot be read: ${error.message}`);
      throw error;
    }
  }
}

/** The dialect of an MCP server; its roots are the granted paths. */
function dialectOf({ sandbox, permissions }: CustomTool, workingDir: string, peer?: McpPeer): Dialect {
  const granted = permissions?.canReadFiles === false ? [] : (sandbox?.allowedPaths ?? []);
  const roots = granted.map((path) => resolve(workingDir, path));
  return mcpDialect(roots, peer);
}

/** The reason why a tool cannot be started, taken from a Problem. @throws all other errors */
export function asUnavailable(error: unknown): { readonly unavailable: string } {
  if (!(error instanceof Problem)) throw error;
  return { unavailable: error.detail };
}
