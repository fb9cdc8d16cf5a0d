import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Server } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Problem } from '../../../base/common/errors.js';
import { NotRegularFile, statOf } from '../../../base/common/regular-file.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { portOf } from '../../../base/outbound/addresses.js';
import { wrong } from '../../../web/rest/wrong-field.js';
import { mcpDialect } from '../../mcp-client/mcp-dialect.js';
import { type McpPeer, newPeer } from '../../mcp-client/mcp-eras.js';
import type { Credential } from '../../mcp-client/credential.js';
import { remoteLauncher, type RemoteLimits } from '../../mcp-client/remote-server.js';
import type { Launcher } from '../../process-pool/launcher.js';
import type { Dialect } from '../../process-pool/pool.types.js';
import { covers } from '../../sandbox/mounts.js';
import { Sandbox, SandboxRefusal } from '../../sandbox/sandbox.js';
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
import { isProgram } from './program-files.js';

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
  /** Starts sessions for one caller. */
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
    const accounts = this.processAccounts(tool, ownEnv);
    const env = accounts ? withoutSignIn(ownEnv) : ownEnv;
    const { root, customTools } = this.config;
    const location = bundle
      ? await locateBundle(tool, await this.bundles.folderOf(bundle, { verify: verifyBundle }))
      : await locateProgram(tool, this.rules.scriptOf(tool), root, customTools.dir);
    // A bundle has another folder on each replica, so the path of its command is not compared.
    const pinned = bundle ? { ...tool, pinnedCommand: null } : tool;
    const mayBringCode = bundle !== null && this.config.bundles.maxBytes > 0;
    const whyNotRun = (program: string): Promise<string | undefined> =>
      this.sandbox.whyNotRun(tool.userNumber, program);
    const target = { ...location.launch, mayBringCode };
    const command = await resolveCommand(pinned, target, env, root, this.rules, whyNotRun).catch(
      throwAsProblem,
    );
    await this.checkClaim(location);
    const spec = { ...command.spec, env: { ...command.spec.env, ...location.variables } };
    const { ownPath } = location;
    return {
      ...{ ...command, spec, ownPath, redactor },
      ...dialectOf(tool, spec.cwd),
      ...(accounts && { accounts }),
    };
  }

  /** Checks that a directory without a program may be granted. @throws Problem with status 422 */
  private async checkClaim({ ownPath, claimedBy }: Location): Promise<void> {
    if (ownPath === undefined || claimedBy === undefined) return;
    await this.sandbox.checkGrantable(ownPath).catch((error: unknown) => {
      throw error instanceof SandboxRefusal ? notGranted(claimedBy, error.message) : error;
    });
  }

  /** Accounts of the callers, for a tool whose processes each get the token of one caller. */
  private processAccounts(tool: CustomTool, env: PlainEnv): ProcessAccounts | undefined {
    if (tool.credentials === 'none') return undefined;
    if (!Object.values(env).some((value) => value.includes(tokenPlaceholder)))
      throw wrong(
        '/env',
        `must hold a variable with ${tokenPlaceholder}, for the access token of the caller`,
      );
    return new ProcessAccounts(this.accounts, this.accountServer(tool, env));
  }

  /** Prepares sessions with a server behind a URL. */
  private prepareRemote(url: URL, tool: CustomTool, env: PlainEnv, redactor: Redactor): PreparedLaunch {
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
      ...dialectOf(tool, spec.cwd, peer),
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
    return { id: tool.id, name: tool.name, url, env, fetch, ...(resource === null && { issuer }) };
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
function dialectOf({ protocol, sandbox, permissions }: CustomTool, workingDir: string, peer?: McpPeer) {
  if (protocol !== 'mcp') return {};
  const granted = permissions?.canReadFiles === false ? [] : (sandbox?.allowedPaths ?? []);
  return {
    dialect: mcpDialect(
      granted.map((path) => resolve(workingDir, path)),
      peer,
    ),
  };
}

/** Where the files of a tool's program are. */
interface Location {
  /** The tool's own directory, else its single file; undefined if it has neither. */
  readonly ownPath: string | undefined;
  /** The arguments and the working directory of its processes. */
  readonly launch: Pick<CustomTool, 'args' | 'workingDir'>;
  /** Additional variables, so that the program finds packages in the directory. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Pointer to the member that names the directory, if the directory has no program and so needs a grant. */
  readonly claimedBy?: string;
}

/**
 * A tool's own directory is its `workingDir`, else the folder of the first file among its arguments or its command. In
 * that case it also runs there, and relative arguments are made absolute, because they mean files below `root`.
 * @param script the index of the argument that is an interpreter's script
 * @param installedDir CUSTOM_TOOLS_DIR, in which each folder belongs to its tool
 */
async function locateProgram(
  tool: CustomTool,
  script: number | undefined,
  root: string,
  installedDir: string,
): Promise<Location> {
  const { workingDir, args, command } = tool;
  const base = resolve(root, workingDir ?? '.');
  const argFiles = await Promise.all(args.map((arg) => fileAt(resolve(base, arg))));
  const program = command.includes('/') ? await fileAt(resolve(base, command)) : undefined;
  const isCode = await Promise.all(
    argFiles.map(async (file) => file !== undefined && (await isProgram(file))),
  );
  const programs = [program, ...argFiles.filter((_, n) => isCode[n] || n === script)];
  if (workingDir !== null) {
    const hasProgram = programs.some((file) => file !== undefined && covers(base, file));
    const isOwn = covers(installedDir, base) || (hasProgram && !isShared(base, root));
    return { ownPath: base, launch: { workingDir, args }, ...(!isOwn && { claimedBy: '/workingDir' }) };
  }
  const first = argFiles.find((file) => file !== undefined) ?? program;
  if (first === undefined) return { ownPath: undefined, launch: { workingDir, args } };
  const folder = dirname(first);
  return {
    // A script in a shared directory, such as a home, does not own all of it.
    ownPath: isShared(folder, root) ? first : folder,
    launch: { workingDir: folder, args: args.map((arg, n) => argFiles[n] ?? arg) },
    ...(!programs.includes(first) && { claimedBy: `/args/${argFiles.indexOf(first)}` }),
  };
}

/** The folder of a bundle belongs to its tool. Python needs PYTHONPATH to find packages there; Node does not. */
async function locateBundle({ args }: CustomTool, folder: string): Promise<Location> {
  const packages = join(folder, 'site-packages');
  const hasPackages = (await statOf(packages))?.isDirectory() === true;
  return {
    ownPath: folder,
    launch: { args, workingDir: folder },
    ...(hasPackages && { variables: { PYTHONPATH: packages } }),
  };
}

/** Folders that a tool cannot own, because other programs use them. */
const sharedFolders = '/ /bin /etc /home /opt /root /srv /tmp /usr /var'.split(' ');
const isShared = (folder: string, root: string): boolean =>
  [...sharedFolders, homedir(), tmpdir(), root].includes(folder);

/** The path itself if there is a file. */
const fileAt = async (path: string): Promise<string | undefined> =>
  (await statOf(path))?.isFile() ? path : undefined;

/** A well-formed request for a grant that the operator has not made: status 422 instead of 400. */
export function notGranted(pointer: string, detail: string): Problem {
  const { code, detail: sentence, details } = wrong(pointer, detail);
  return new Problem(code, sentence, { ...details, status: 422 });
}

const fileErrors = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP']);

/** @throws Problem of the field `command` for a missing or unreadable program file, and other errors unchanged */
export function throwAsProblem(error: unknown): never {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  const isFileError =
    error instanceof NotRegularFile || (syscall !== undefined && fileErrors.has(code ?? ''));
  throw isFileError ? wrong('/command', `cannot be read: ${message}`) : error;
}

/** The reason why a tool cannot be started, taken from a Problem. @throws all other errors */
export function asUnavailable(error: unknown): { readonly unavailable: string } {
  if (!(error instanceof Problem)) throw error;
  return { unavailable: error.detail };
}
