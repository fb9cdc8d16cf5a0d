import { constants } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { isOneOf } from '../../../base/common/name-patterns.js';
import { headOf, statOf } from '../../../base/common/regular-file.js';
import { type AppConfig, hostVariable, isServersOwn } from '../../../base/config/app-config.js';
import { harmlessVariables, isSteering } from '../../../base/config/tool-variables.js';
import { wrong } from '../../../web/rest/wrong-field.js';
import type { ProcessSpec } from '../../process-pool/pool.types.js';
import type { PlainEnv } from '../../secrets/env-cipher.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';

/** Tells why the tool's user may not run a program; undefined: it may. */
type WhyNotRun = (program: string) => Promise<string | undefined>;

/** A command as it is started. */
export interface ResolvedCommand {
  readonly spec: ProcessSpec;
  /** The file of the command, with links resolved. */
  readonly realPath: string;
  /** Index of the argument that is an interpreter's script; absent if there is none or it is not known. */
  readonly script?: number;
}

/** A tool with all that decides about its command. */
interface CommandRequest {
  /** As registered. */
  readonly tool: Pick<CustomTool, 'command' | 'args' | 'workingDir' | 'permissions' | 'pinnedCommand'>;
  /** Its working directory, and its arguments there. */
  readonly location: Pick<CustomTool, 'args' | 'workingDir'>;
  /** Whether it came in a bundle that may hold any code. */
  readonly mayBringCode: boolean;
  readonly ownEnv: PlainEnv;
  /** Base of relative working directories. */
  readonly root: string;
  readonly rules: CommandRules;
  readonly whyNotRun: WhyNotRun;
}

/**
 * Resolves the program, the working directory and the complete environment of a tool's process.
 * @throws Problem `invalid_request` that names the field
 */
export async function resolveCommand(request: CommandRequest): Promise<ResolvedCommand> {
  const { tool, location, mayBringCode, ownEnv, root, rules, whyNotRun } = request;
  rules.checkText(tool);
  rules.checkVariables(Object.keys(ownEnv), tool.permissions?.allowedEnvironmentVars ?? []);
  const cwd = resolve(root, location.workingDir ?? '.');
  if (!(await statOf(cwd))?.isDirectory()) throw wrong('/workingDir', `is not a directory: ${cwd}`);
  if (tool.workingDir !== null) await rules.checkWorkingDir(cwd);
  const env = toolEnvironment(tool, ownEnv);
  const { command, args: writtenArgs } = tool;
  const isInterpreter = rules.isInterpreter(command);
  const candidates = candidatesFor(command, cwd, env['PATH'] ?? '');
  const link = await findExecutable(command, candidates, whyNotRun, isInterpreter);
  const realPath = await realpath(link);
  const isOnHostPath =
    !command.includes('/') || realPath === (await hostProgram(basename(command), whyNotRun));
  const program = { command, args: location.args, writtenArgs, cwd, realPath, isOnHostPath, mayBringCode };
  const args = await rules.checkCommand(program);
  // A path must lead to the same file as at registration. The operator may upgrade what a bare name leads to.
  const { pinnedCommand } = tool;
  if (command.includes('/') && pinnedCommand !== null && pinnedCommand !== realPath)
    throw wrong(
      '/command',
      `leads to ${realPath} now, but led to ${pinnedCommand} when it was registered; change the tool's command to accept that`,
    );
  const spec = { command: await startPath(link, realPath, isInterpreter), args, cwd, env };
  const script = rules.scriptOf(program);
  return { spec, realPath, ...(script !== undefined && { script }) };
}

/**
 * The path to start. The file itself, so that changing the link later has no effect; but the link of an interpreter if
 * the link decides its behaviour: it is in a virtual environment, or is one of many names for the same program.
 */
async function startPath(link: string, real: string, isInterpreter: boolean): Promise<string> {
  if (isInterpreter && stemOf(basename(link)) !== stemOf(basename(real))) return link;
  const inEnvironment = await statOf(join(dirname(dirname(link)), 'pyvenv.cfg'));
  return inEnvironment ? link : real;
}

/** Variables of the host that every tool gets. */
const alwaysGiven: readonly string[] = ['PATH', 'HOME', 'LANG'];

/** The environment: defaults, a few variables of the host, those granted to the tool, and the tool's own. */
function toolEnvironment(
  { permissions }: Pick<CustomTool, 'permissions'>,
  own: PlainEnv,
): Record<string, string> {
  const requested = permissions?.allowedEnvironmentVars ?? [];
  const refused = requested.findIndex(isServersOwn);
  if (refused >= 0) {
    const why = `${requested[refused]} is a setting of the server itself: give the tool its own value in env`;
    throw wrong(`/permissions/allowedEnvironmentVars/${refused}`, why);
  }
  const env: Record<string, string> = { LANG: 'C.UTF-8', TMPDIR: tmpdir(), ...noSystemFiles };
  for (const name of [...alwaysGiven, ...requested]) {
    const value = hostVariable(name);
    if (value !== undefined) env[name] = value;
  }
  return { ...env, ...own };
}

/** Keeps git and wget from reading settings in /etc: these are unreadable in the sandbox, and both would exit. */
const noSystemFiles = { GIT_CONFIG_NOSYSTEM: '1', SYSTEM_WGETRC: '/dev/null' };

/** The real path of the program of this name on the server's own PATH, if the tool's user may run one. */
const hostProgram = (name: string, whyNotRun: WhyNotRun): Promise<string | undefined> =>
  findExecutable(name, candidatesFor(name, '/', hostVariable('PATH') ?? ''), whyNotRun).then(
    (path) => realpath(path),
    () => undefined,
  );

/**
 * Finds the first program that the tool's user may run. The files are checked concurrently, because each check waits for
 * an event loop that may be busy.
 * @param isInterpreter if true, scripts come last: they wrap an interpreter elsewhere, which the sandbox does not show
 * @throws Problem `invalid_request`
 */
async function findExecutable(
  command: string,
  candidates: readonly string[],
  whyNotRun: WhyNotRun,
  isInterpreter = false,
): Promise<string> {
  const problems = await Promise.all(candidates.map(whyNotExecutable));
  const programs: string[] = [];
  const shims: string[] = [];
  for (const [n, path] of candidates.entries()) {
    if (problems[n] !== undefined) continue;
    const isShim = isInterpreter && (await isScript(path));
    (isShim ? shims : programs).push(path);
  }
  let obstacle: string | undefined;
  for (const path of [...programs, ...shims]) {
    const why = (await whyNotRun(path)) ?? (await whyNotRun(await realpath(path)));
    if (why === undefined) return path;
    obstacle ??= why;
  }
  const reason = command.includes('/') ? problems[0] : 'was not found on the PATH';
  throw wrong('/command', `${JSON.stringify(command)} ${obstacle ? `cannot be run: ${obstacle}` : reason}`);
}

/** Paths at which a command may be. @param path the PATH on which a bare name is looked up */
function candidatesFor(command: string, cwd: string, path: string): string[] {
  if (command.includes('/')) return [isAbsolute(command) ? command : resolve(cwd, command)];
  return path.split(delimiter).map((folder) => join(folder, command));
}

/** @throws Problem `invalid_request` if the file cannot be executed (any more) */
export async function checkExecutable(path: string): Promise<void> {
  const problem = await whyNotExecutable(path);
  if (problem !== undefined) throw wrong('/command', `${JSON.stringify(path)} ${problem}`);
}

/** Why a file cannot be executed by anybody; undefined if it can. */
async function whyNotExecutable(path: string): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isFile()) return 'is not a file';
    await access(path, constants.X_OK);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'is not executable' : 'does not exist';
  }
}

export const isScript = async (path: string): Promise<boolean> =>
  (await headOf(path, 2).catch(() => '')) === '#!';

/** An executable and its arguments, to be checked. */
interface CandidateCommand {
  /** The command as it was registered. */
  readonly command: string;
  readonly args: readonly string[];
  /** The same arguments as registered, before those that name files were made absolute. */
  readonly writtenArgs: readonly string[];
  readonly cwd: string;
  /** The file itself, links resolved. */
  readonly realPath: string;
  /** Whether the server's own PATH has this file under the command's name. */
  readonly isOnHostPath: boolean;
  /** Whether it came in a bundle, and bundles are accepted. */
  readonly mayBringCode: boolean;
}

/** An interpreter's option that does not change which code runs. */
const harmlessOption = /^(-u|-jar|--no-warnings|--enable-source-maps|--max-old-space-size=\d+)$/;
const harmlessOptions = '-u, -jar, --no-warnings, --enable-source-maps and --max-old-space-size=<MB>';

/** Rules for the commands of tools. Every refusal is a Problem `invalid_request` that names the field. */
export class CommandRules {
  constructor(private readonly config: AppConfig['commands']) {}

  /** Checks everything that does not need the disk. */
  checkText({ command, workingDir }: { command: string; workingDir: string | null }): void {
    if (command.startsWith('-')) throw wrong('/command', 'must not begin with a dash');
    if (climbs(command)) throw wrong('/command', 'must not hold ".."');
    if (workingDir !== null && climbs(workingDir)) throw wrong('/workingDir', 'must not hold ".."');
  }

  /**
   * Checks the variables that a tool gets. If code must lie below a root, no variable may make a program load it from
   * elsewhere. A tool may get the server's own variables only if they are harmless or the operator lists them.
   * @param own the names of the tool's own variables
   * @param granted names of the server's variables that the tool gets
   */
  checkVariables(own: readonly string[], granted: readonly string[]): void {
    const { allowedRoots, allowedVariables } = this.config;
    const isFree = (name: string): boolean => isOneOf([...harmlessVariables, ...allowedVariables], name);
    const refused = allowedRoots && own.find((name) => !isFree(name));
    if (refused !== undefined)
      throw wrong(
        `/env/${refused}`,
        isSteering(refused) ? `names ${refused}, which ${steersPrograms}` : `names ${refused}; ${mayBeSet}`,
      );
    for (const [n, name] of granted.entries()) {
      if (isFree(name) || alwaysGiven.includes(name) || isServersOwn(name)) continue;
      throw wrong(
        `/permissions/allowedEnvironmentVars/${n}`,
        `names ${name} of this server's environment, which may be a secret: give the tool a value of its own in env` +
          (isSteering(name)
            ? ''
            : `, or set CUSTOM_TOOLS_ALLOWED_ENV=${[...allowedVariables, name].join(',')}`),
      );
    }
  }

  /** Checks the working directory that a registration names. @param workingDir absolute */
  async checkWorkingDir(workingDir: string): Promise<void> {
    const real = await realpath(workingDir);
    if (!(await this.isBelowRoots(real))) throw this.outsideRoots('/workingDir', real, real);
  }

  /**
   * Checks a command against the allowed roots: an executable below a root, or an interpreter with harmless options and
   * a file below a root. A bundle brings code of its own, so the arguments of its interpreter are free.
   * @returns the arguments to start it with
   * @throws Problem `invalid_request` naming `/command` or the argument
   */
  async checkCommand(candidate: CandidateCommand): Promise<readonly string[]> {
    const { command, args, writtenArgs, cwd, realPath, isOnHostPath, mayBringCode } = candidate;
    const isInterpreter = this.isInterpreter(command);
    const first = args.findIndex((arg) => !harmlessOption.test(arg));
    if ((isInterpreter || this.isInterpreter(realPath)) && climbs(writtenArgs[first] ?? ''))
      throw wrong(`/args/${first}`, 'must not hold ".."');
    if (this.config.allowedRoots === undefined) return args;
    if (!(isInterpreter && isOnHostPath) && !(await this.isBelowRoots(realPath)))
      throw wrong(
        '/command',
        `leads to ${realPath}, which is no interpreter of CUSTOM_TOOLS_INTERPRETERS, ${outsideOfRoots}: ${bundleAdvice}`,
      );
    if (mayBringCode || !(isInterpreter || this.isInterpreter(realPath))) return args;
    const arg = args[first];
    if (arg === undefined)
      throw wrong('/args', `names no script: ${command} would take what callers send for its program`);
    if (/^[-+]/.test(arg))
      throw wrong(
        `/args/${first}`,
        `is no harmless option: with CUSTOM_TOOLS_ALLOWED_ROOTS only ${harmlessOptions} may stand before the script ` +
          `of ${command}. Write others into the #! line of an executable script and register that, or ${bundleAdvice}`,
      );
    // A path, so that no interpreter takes it for a subcommand.
    return args.with(first, await this.checkScript(resolve(cwd, arg), `/args/${first}`));
  }

  /** Whether a program's name is that of an interpreter; `python3.12` is one if `python3` or `python` is. */
  isInterpreter(program: string): boolean {
    const name = basename(program);
    const { interpreters } = this.config;
    return (
      interpreters.has(name) ||
      interpreters.has(name.replace(/\.[\d.]+$/, '')) ||
      interpreters.has(stemOf(name))
    );
  }

  /** @returns the index of the argument that an interpreter takes as its script, if it can be determined */
  scriptOf({ command, args }: Pick<CandidateCommand, 'command' | 'args'>): number | undefined {
    const first = args.findIndex((arg) => !harmlessOption.test(arg));
    return this.isInterpreter(command) && /^[^-+]/.test(args[first] ?? '') ? first : undefined;
  }

  /** Checks that a script exists below an allowed root. @returns its path */
  private async checkScript(path: string, pointer: string): Promise<string> {
    const real = await realpath(path).catch(() => undefined);
    if (real === undefined) throw wrong(pointer, `does not exist: ${path}`);
    // Interpreters look for modules beside the link, so its folder must be allowed, too.
    for (const place of [real, path])
      if (!(await this.isBelowRoots(place))) throw this.outsideRoots(pointer, place, dirname(place));
    return path;
  }

  /** The problem of a path outside the allowed roots. @param folder the root that would allow it */
  private outsideRoots(pointer: string, path: string, folder: string) {
    const roots = [...(this.config.allowedRoots ?? []), folder].join(',');
    return wrong(
      pointer,
      `leads to ${path}, ${outsideOfRoots}: ${bundleAdvice}; to allow it, set CUSTOM_TOOLS_ALLOWED_ROOTS=${roots}`,
    );
  }

  /** @param path absolute; a root that is a link also counts under its own name */
  private async isBelowRoots(path: string): Promise<boolean> {
    const roots = this.config.allowedRoots;
    if (roots === undefined) return true;
    for (const root of roots) {
      const realRoot = await realpath(root).catch(() => undefined);
      if (realRoot !== undefined && (isBelow(path, realRoot) || isBelow(path, root))) return true;
    }
    return false;
  }
}

/* Parts of messages. */
const outsideOfRoots = 'outside of CUSTOM_TOOLS_ALLOWED_ROOTS';
const bundleAdvice = 'register the tool as a bundle (toolkeeper tool register <folder>)';
const steersPrograms = `programs read: it could have them run code ${outsideOfRoots}`;
const mayBeSet =
  `with CUSTOM_TOOLS_ALLOWED_ROOTS a tool may set ${harmlessVariables.join(', ')}, ` +
  'and what CUSTOM_TOOLS_ALLOWED_ENV lists';

/** The name without its version: `python3.12` becomes `python`. */
const stemOf = (name: string): string => name.replace(/[\d.]+$/, '');

/** Whether a path has a segment `..`. */
const climbs = (path: string): boolean => path.split('/').includes('..');

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
