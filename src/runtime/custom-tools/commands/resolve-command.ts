import { constants } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { isOneOf } from '../../../base/common/name-patterns.js';
import { openRegularFile, statOf } from '../../../base/common/regular-file.js';
import { type AppConfig, hostVariable, isServersOwn } from '../../../base/config/app-config.js';
import { harmlessVariables, isSteering } from '../../../base/config/tool-variables.js';
import { wrong } from '../../../web/rest/wrong-field.js';
import type { ProcessSpec } from '../../process-pool/pool.types.js';
import type { PlainEnv } from '../../secrets/env-cipher.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';

/** @returns why the tool's user may not run a program; undefined: it may */
type WhyNotRun = (program: string) => Promise<string | undefined>;

export interface ResolvedCommand {
  readonly spec: ProcessSpec;
  /** The file that the command led to, links resolved. */
  readonly realPath: string;
  /** The index of the argument that is an interpreter's script; absent if none is known to be. */
  readonly script?: number;
}

/**
 * Resolves what a tool's process is started from: the program, the working directory, a clean environment.
 * @param tool as registered
 * @param place where it runs, its arguments there, and whether it came in a bundle that may hold any code
 * @param root where relative working directories begin
 * @param own the tool's own variables, opened
 * @throws Problem `invalid_request` that names the field
 */
export async function resolveCommand(
  tool: Pick<CustomTool, 'command' | 'args' | 'workingDir' | 'permissions' | 'pinnedCommand'>,
  place: Pick<CustomTool, 'args' | 'workingDir'> & { readonly mayBringCode: boolean },
  own: PlainEnv,
  root: string,
  rules: CommandRules,
  whyNotRun: WhyNotRun,
): Promise<ResolvedCommand> {
  rules.checkText(tool);
  rules.checkVariables(Object.keys(own), tool.permissions?.allowedEnvironmentVars ?? []);
  const cwd = resolve(root, place.workingDir ?? '.');
  if (!(await statOf(cwd))?.isDirectory()) throw wrong('/workingDir', `is not a directory: ${cwd}`);
  if (tool.workingDir !== null) await rules.checkWorkingDir(cwd);
  const env = toolEnvironment(tool, own);
  const { command, args: writtenArgs } = tool;
  const { args: placed, mayBringCode } = place;
  const isInterpreter = rules.isInterpreter(command);
  const candidates = candidatesFor(command, cwd, env['PATH'] ?? '');
  const link = await findExecutable(command, candidates, whyNotRun, isInterpreter);
  const realPath = await realpath(link);
  const isHosts = !command.includes('/') || realPath === (await onHostPath(basename(command), whyNotRun));
  const found = { command, args: placed, writtenArgs, cwd, realPath, isHosts, mayBringCode };
  const args = await rules.checkCommand(found);
  checkPin(tool, realPath);
  const spec = { command: await startPath(link, realPath, isInterpreter), args, cwd, env };
  const script = rules.scriptOf(found);
  return { spec, realPath, ...(script !== undefined && { script }) };
}

/**
 * A path must lead where it led when it was registered. A bare name is looked up on the server's own PATH, which is
 * the operator's: an upgrade of the interpreter is no attack.
 */
function checkPin(
  { command, pinnedCommand }: Pick<CustomTool, 'command' | 'pinnedCommand'>,
  real: string,
): void {
  if (!command.includes('/') || pinnedCommand === null || pinnedCommand === real) return;
  throw wrong(
    '/command',
    `leads to ${real} now, but led to ${pinnedCommand} when it was registered; change the tool's command to accept that`,
  );
}

/**
 * The file itself is started, so that a link that is changed later changes nothing. An interpreter starts by its link if
 * it finds something by that: a virtual environment beside it, or its name, which one program for many goes by.
 */
async function startPath(link: string, real: string, isInterpreter: boolean): Promise<string> {
  if (isInterpreter && stemOf(basename(link)) !== stemOf(basename(real))) return link;
  const inEnvironment = await statOf(join(dirname(dirname(link)), 'pyvenv.cfg'));
  return inEnvironment ? link : real;
}

/** Built from nothing: four names of the host, those the tool was granted, and the tool's own. */
function toolEnvironment(
  { permissions }: Pick<CustomTool, 'permissions'>,
  own: PlainEnv,
): Record<string, string> {
  const asked = permissions?.allowedEnvironmentVars ?? [];
  const refused = asked.findIndex(isServersOwn);
  if (refused >= 0) {
    const why = `${asked[refused]} is a setting of the server itself: give the tool its own value in env`;
    throw wrong(`/permissions/allowedEnvironmentVars/${refused}`, why);
  }
  const granted = [...alwaysGiven, ...asked];
  const inherited = granted.flatMap((name) => {
    const value = hostVariable(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { LANG: 'C.UTF-8', TMPDIR: tmpdir(), ...noSystemFiles, ...Object.fromEntries(inherited), ...own };
}

/** Programs end where a settings file in /etc is there and closed to them, as it is in the sandbox; without these they do not look. */
const noSystemFiles = { GIT_CONFIG_NOSYSTEM: '1', SYSTEM_WGETRC: '/dev/null' };

/**
 * Finds a program of the server's own PATH.
 * @throws Problem `invalid_request` if there is none that the tool's user may run
 */
const findProgram = (name: string, whyNotRun: WhyNotRun): Promise<string> =>
  findExecutable(name, candidatesFor(name, '/', hostVariable('PATH') ?? ''), whyNotRun);

/** The real path of the server's own program of this name, for the tool's user. */
const onHostPath = (name: string, whyNotRun: WhyNotRun): Promise<string | undefined> =>
  findProgram(name, whyNotRun).then(
    (path) => realpath(path),
    () => undefined,
  );

/**
 * Finds the first program that the tool's user may run. The files are looked at side by side: one after the other, each
 * look waits for a turn of an event loop that may be busy.
 * @param isInterpreter scripts come last: they wrap an interpreter elsewhere, which is not visible in the sandbox
 * @throws Problem `invalid_request`
 */
async function findExecutable(
  command: string,
  candidates: readonly string[],
  whyNotRun: WhyNotRun,
  isInterpreter = false,
): Promise<string> {
  const problems = await Promise.all(candidates.map(whyNotExecutable));
  const there = candidates.filter((_, n) => problems[n] === undefined);
  const isShim = await Promise.all(there.map(async (path) => isInterpreter && (await isScript(path))));
  let closed: string | undefined;
  for (const path of [...there.filter((_, n) => !isShim[n]), ...there.filter((_, n) => isShim[n])]) {
    const why = (await whyNotRun(path)) ?? (await whyNotRun(await realpath(path)));
    if (why === undefined) return path;
    closed ??= why;
  }
  const reason = command.includes('/') ? problems[0] : 'was not found on the PATH';
  throw wrong('/command', `${JSON.stringify(command)} ${closed ? `cannot be run: ${closed}` : reason}`);
}

function candidatesFor(command: string, cwd: string, path: string): string[] {
  if (command.includes('/')) return [isAbsolute(command) ? command : resolve(cwd, command)];
  return path.split(delimiter).map((folder) => join(folder, command));
}

/** @throws Problem `invalid_request` if a file that could be started cannot be any more */
export async function checkExecutable(path: string): Promise<void> {
  const problem = await whyNotExecutable(path);
  if (problem !== undefined) throw wrong('/command', `${JSON.stringify(path)} ${problem}`);
}

async function whyNotExecutable(path: string): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isFile()) return 'is not a file';
    await access(path, constants.X_OK);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'is not executable' : 'does not exist';
  }
}

/** Whether a file begins with `#!`. */
export async function isScript(path: string): Promise<boolean> {
  const file = await openRegularFile(path).catch(() => undefined);
  try {
    const start = await file?.read(Buffer.alloc(2), 0, 2, 0);
    return start?.bytesRead === 2 && start.buffer.toString() === '#!';
  } catch {
    return false;
  } finally {
    await file?.close();
  }
}

/** An executable that was found, and its arguments. */
interface FoundCommand {
  /** The command as it was registered. */
  readonly command: string;
  readonly args: readonly string[];
  /** The same arguments as registered, before those that name files were made absolute. */
  readonly writtenArgs: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** The file itself, links resolved. */
  readonly realPath: string;
  /** It is the file that the server's own PATH has under the command's name. */
  readonly isHosts: boolean;
  /** It came in a bundle, and bundles are taken. */
  readonly mayBringCode: boolean;
}

/** Options that change nothing about the code that runs, for any interpreter. */
const harmless = /^(-u|-jar|--no-warnings|--enable-source-maps|--max-old-space-size=\d+)$/;
const harmlessOptions = '-u, -jar, --no-warnings, --enable-source-maps and --max-old-space-size=<MB>';

/** Decides what a tool may be started from; every refusal is a Problem `invalid_request` that names the field. */
export class CommandRules {
  constructor(private readonly config: AppConfig['commands']) {}

  /** Checks what needs no look at the disk. */
  checkText({ command, workingDir }: { command: string; workingDir: string | null }): void {
    if (command.startsWith('-')) throw wrong('/command', 'must not begin with a dash');
    if (climbs(command)) throw wrong('/command', 'must not hold ".."');
    if (workingDir !== null && climbs(workingDir)) throw wrong('/workingDir', 'must not hold ".."');
  }

  /**
   * Checks the variables that a tool gets. If code must lie below a root, no variable may make a program load it from
   * elsewhere. A tool may get the server's own variables only if they are harmless or the operator lists them.
   * @param own the names of the tool's own variables
   * @param granted those that it is given of the server's
   */
  checkVariables(own: readonly string[], granted: readonly string[]): void {
    const { allowedRoots, allowedVariables } = this.config;
    const isFree = (name: string): boolean => isOneOf([...harmlessVariables, ...allowedVariables], name);
    for (const name of allowedRoots === undefined ? [] : own) {
      if (isFree(name)) continue;
      throw wrong(
        `/env/${name}`,
        isSteering(name) ? `names ${name}, which ${steers}` : `names ${name}; ${mayBeSet}`,
      );
    }
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

  /** @param workingDir absolute; only one that the registration names is asked about */
  async checkWorkingDir(workingDir: string): Promise<void> {
    const real = await realpath(workingDir);
    if (!(await this.isBelowRoots(real))) throw this.outside('/workingDir', real, real);
  }

  /**
   * Checks a command against the allowed roots: an executable below a root, or an interpreter with harmless options and
   * a file below a root. A bundle brings code of its own, so the arguments of its interpreter are free.
   * @returns the arguments to start it with
   * @throws Problem `invalid_request` naming `/command` or the argument
   */
  async checkCommand(found: FoundCommand): Promise<readonly string[]> {
    const { command, args, writtenArgs, cwd, realPath, isHosts, mayBringCode } = found;
    const isInterpreter = this.isInterpreter(command);
    const first = args.findIndex((arg) => !harmless.test(arg));
    if ((isInterpreter || this.isInterpreter(realPath)) && climbs(writtenArgs[first] ?? ''))
      throw wrong(`/args/${first}`, 'must not hold ".."');
    if (this.config.allowedRoots === undefined) return args;
    if (!(isInterpreter && isHosts) && !(await this.isBelowRoots(realPath)))
      throw wrong(
        '/command',
        `leads to ${realPath}, which is no interpreter of CUSTOM_TOOLS_INTERPRETERS, ${outside}: ${moving}`,
      );
    if (mayBringCode || !(isInterpreter || this.isInterpreter(realPath))) return args;
    const arg = args[first];
    if (arg === undefined)
      throw wrong('/args', `names no script: ${command} would take what callers send for its program`);
    if (/^[-+]/.test(arg))
      throw wrong(
        `/args/${first}`,
        `is no harmless option: with CUSTOM_TOOLS_ALLOWED_ROOTS only ${harmlessOptions} may stand before the script ` +
          `of ${command}. Write others into the #! line of an executable script and register that, or ${moving}`,
      );
    // A path, so that no interpreter takes it for a subcommand.
    return args.with(first, await this.checkScript(resolve(cwd, arg), `/args/${first}`));
  }

  /** Whether a program is an interpreter by its name; `python3.12` is one where `python3` or `python` is. */
  isInterpreter(program: string): boolean {
    const name = basename(program);
    return [name, name.replace(/\.[\d.]+$/, ''), stemOf(name)].some((each) =>
      this.config.interpreters.has(each),
    );
  }

  /** @returns the index of the argument that an interpreter takes as its script, if it can be determined */
  scriptOf({ command, args }: Pick<FoundCommand, 'command' | 'args'>): number | undefined {
    const first = args.findIndex((arg) => !harmless.test(arg));
    return this.isInterpreter(command) && /^[^-+]/.test(args[first] ?? '') ? first : undefined;
  }

  private async checkScript(path: string, pointer: string): Promise<string> {
    const real = await realpath(path).catch(() => undefined);
    if (real === undefined) throw wrong(pointer, `does not exist: ${path}`);
    // A script finds what belongs to it beside its name, not beside what that is a link to.
    for (const place of [real, path])
      if (!(await this.isBelowRoots(place))) throw this.outside(pointer, place, dirname(place));
    return path;
  }

  private outside(pointer: string, place: string, folder: string) {
    const roots = [...(this.config.allowedRoots ?? []), folder].join(',');
    return wrong(
      pointer,
      `leads to ${place}, ${outside}: ${moving}; to allow it, set CUSTOM_TOOLS_ALLOWED_ROOTS=${roots}`,
    );
  }

  /** @param path absolute; a root counts by its own name, too, if it is a link */
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

/** Given to every tool. */
const alwaysGiven: readonly string[] = ['PATH', 'HOME', 'LANG'];

const outside = 'outside of CUSTOM_TOOLS_ALLOWED_ROOTS';
const moving = 'register the tool as a bundle (toolkeeper tool register <folder>)';
const steers = `programs read: it could have them run code ${outside}`;
const mayBeSet =
  `with CUSTOM_TOOLS_ALLOWED_ROOTS a tool may set ${harmlessVariables.join(', ')}, ` +
  'and what CUSTOM_TOOLS_ALLOWED_ENV lists';

/** `python3.12` is `python`. */
const stemOf = (name: string): string => name.replace(/[\d.]+$/, '');

const climbs = (path: string): boolean => path.split('/').includes('..');

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
