import { constants } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { openRegularFile, statOf } from '../../../base/common/regular-file.js';
import { hostVariable, isServersOwn } from '../../../base/config/app-config.js';
import type { ProcessSpec } from '../../process-pool/pool.types.js';
import { alwaysGiven, type CommandRules, stemOf } from './command-rules.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import type { PlainEnv } from '../../secrets/env-cipher.js';
import { wrong } from '../../../web/rest/wrong-field.js';

/** @returns why the tool's user may not run a program; undefined: it may */
export type WhyNotRun = (program: string) => Promise<string | undefined>;

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
export const findProgram = (name: string, whyNotRun: WhyNotRun): Promise<string> =>
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
