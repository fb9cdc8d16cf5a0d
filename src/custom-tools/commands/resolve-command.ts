import { Logger } from '@nestjs/common';
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { openPlainFile } from '../../common/plain-file.js';
import { hostVariable, isServersOwn } from '../../config/app-config.js';
import type { ProcessSpec } from '../../process-pool/pool.types.js';
import { alwaysGiven, type CommandRules } from './command-rules.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import type { PlainEnv } from '../secrets/secret-box.js';
import { wrong } from '../entity/wrong-field.js';

export type LaunchSettings = Pick<
  CustomTool,
  | 'id'
  | 'userNumber'
  | 'command'
  | 'args'
  | 'url'
  | 'headers'
  | 'bundle'
  | 'workingDir'
  | 'env'
  | 'permissions'
  | 'pinnedCommand'
>;

/** What of a registration says how its processes run. */
export type LaunchableTool = LaunchSettings & Pick<CustomTool, 'protocol' | 'sandbox'>;

/** @returns why the tool's user may not run a program; undefined: it may */
export type WhyNotRun = (program: string) => Promise<string | undefined>;

export interface ResolvedCommand {
  readonly spec: ProcessSpec;
  /** The file that the command led to, links resolved. */
  readonly realPath: string;
  /** The index of the argument that is an interpreter's script; absent where none is known to be. */
  readonly script?: number;
}

/**
 * Resolves what a tool's process is started from: the real interpreter, the working directory, a clean environment.
 * @param tool as registered
 * @param place where it runs, and its arguments there
 * @param root where relative working directories begin
 * @param own the tool's own variables, opened
 * @throws Problem `invalid_request` that names the field
 */
export async function resolveCommand(
  tool: Omit<LaunchSettings, 'id' | 'userNumber' | 'env' | 'url' | 'headers' | 'bundle'>,
  place: Pick<LaunchSettings, 'args' | 'workingDir'>,
  own: PlainEnv,
  root: string,
  rules: CommandRules,
  whyNotRun: WhyNotRun,
): Promise<ResolvedCommand> {
  rules.checkText(tool);
  rules.checkVariables(Object.keys(own), tool.permissions?.allowedEnvironmentVars ?? []);
  const cwd = resolve(root, place.workingDir ?? '.');
  if (!(await isDirectory(cwd))) throw wrong('/workingDir', `is not a directory: ${cwd}`);
  if (tool.workingDir !== null) await rules.checkWorkingDir(cwd);
  const env = toolEnvironment(tool, own);
  const look = { whyNotRun, pinned: tool.pinnedCommand };
  const link = await findExecutable(tool.command, candidatesFor(tool.command, cwd, env['PATH'] ?? ''), look);
  const realPath = await realpath(link);
  const { command, args: writtenArgs } = tool;
  const { args } = place;
  const hostPath = await onHostPath(basename(command), look);
  const script = await rules.checkCommand({ command, args, writtenArgs, cwd, realPath, hostPath });
  checkPin(tool, realPath);
  const spec = { command: await startPath(link, realPath), args, cwd, env };
  return { spec, realPath, ...(script !== undefined && { script }) };
}

/** @throws Problem `invalid_request` when a file that could be started cannot be any more */
export async function checkExecutable(path: string): Promise<void> {
  const problem = await whyNotExecutable(path);
  if (problem !== undefined) throw wrong('/command', `${JSON.stringify(path)} ${problem}`);
}

/**
 * A path must lead where it led when it was registered. A bare name is looked up on the server's own PATH, which is
 * the operator's: an upgrade of the interpreter is no attack.
 */
function checkPin(
  { command, pinnedCommand }: Pick<LaunchSettings, 'command' | 'pinnedCommand'>,
  real: string,
): void {
  if (!command.includes('/') || pinnedCommand === null || pinnedCommand === real) return;
  throw wrong(
    '/command',
    `leads to ${real} now, but led to ${pinnedCommand} when it was registered; change the tool's command to accept that`,
  );
}

/**
 * The file itself is started, so that a link that is changed later changes nothing. Two kinds of program must be
 * started by their link: Python finds its virtual environment beside it, a multi-call program its name in it.
 */
async function startPath(link: string, real: string): Promise<string> {
  if (link === real || multiCall.has(basename(real))) return link;
  const inEnvironment = await stat(join(dirname(dirname(link)), 'pyvenv.cfg')).then(
    () => true,
    () => false,
  );
  return inEnvironment ? link : real;
}

const multiCall: ReadonlySet<string> = new Set([
  'busybox',
  'toybox',
  'coreutils',
  'volta-shim',
  'mise',
  'snap',
]);

/** Built from nothing: four names of the host, those the tool was granted, and the tool's own. */
function toolEnvironment(
  { permissions }: Pick<LaunchSettings, 'permissions'>,
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
 * @throws Problem `invalid_request` where there is none that the tool's user may run
 */
export const findProgram = (name: string, whyNotRun: WhyNotRun): Promise<string> =>
  findExecutable(name, candidatesFor(name, '/', hostVariable('PATH') ?? ''), { whyNotRun, pinned: null });

async function findExecutable(command: string, candidates: readonly string[], look: Look): Promise<string> {
  const { found, closed } = await firstExecutable(candidates, look);
  if (found !== undefined) return found;
  if (closed !== undefined) throw wrong('/command', `${JSON.stringify(command)} cannot be run: ${closed}`);
  const reason = command.includes('/')
    ? await whyNotExecutable(candidates[0] ?? '')
    : 'was not found on the PATH';
  throw wrong('/command', `${JSON.stringify(command)} ${reason}`);
}

/** How a tool's program is looked up. */
interface Look {
  readonly whyNotRun: WhyNotRun;
  /** Real path of the program that the command led to before. */
  readonly pinned: string | null;
}

/**
 * Finds the first program that the tool's user may run. The files are looked at side by side: one after the other, each
 * look waits for a turn of an event loop that may be busy.
 * @returns or else why the first one that is there may not be run
 */
async function firstExecutable(
  candidates: readonly string[],
  look: Look,
): Promise<{ readonly found?: string; readonly closed?: string | undefined }> {
  const problems = await Promise.all(candidates.map(whyNotExecutable));
  let closed: string | undefined;
  for (const candidate of candidates.filter((_, n) => problems[n] === undefined)) {
    let why = await look.whyNotRun(candidate);
    if (why === undefined) {
      const found = await realInterpreter(candidate, look.pinned);
      why = (await look.whyNotRun(found)) ?? (await look.whyNotRun(await realpath(found)));
      if (why === undefined) return { found };
    }
    closed ??= why;
  }
  return { closed };
}

function candidatesFor(command: string, cwd: string, path: string): string[] {
  if (command.includes('/')) return [isAbsolute(command) ? command : resolve(cwd, command)];
  return path.split(delimiter).map((folder) => join(folder, command));
}

/** The real path of what the server itself has under this name, for the tool's user. */
async function onHostPath(name: string, look: Look): Promise<string | undefined> {
  const { found } = await firstExecutable(candidatesFor(name, '/', hostVariable('PATH') ?? ''), look);
  return found === undefined ? undefined : realpath(found);
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

/**
 * `python3` may be a shim script that costs 100 ms a start: the interpreter itself says where it is. Only the server's
 * own is asked, in the server's own surroundings: whatever else bears the name runs as the tool it is, in its sandbox.
 * @param pinned the interpreter that a shim led to before: it stands in for one that does not answer
 * @throws Problem `invalid_request` where there is none
 */
async function realInterpreter(path: string, pinned: string | null): Promise<string> {
  if (!isPython.test(basename(path)) || !(await isScript(path))) return path;
  const hostPath = hostVariable('PATH') ?? '';
  if (!hostPath.split(delimiter).includes(dirname(path))) return path;
  try {
    const env = { PATH: hostPath, HOME: hostVariable('HOME') ?? '/' };
    const ask = promisify(execFile)(path, ['-c', 'import sys; print(sys.executable)'], {
      env,
      timeout: shimTimeoutMs,
    });
    return await realpath((await ask).stdout.trim());
  } catch (error) {
    const what = `${path} is a script that did not tell its interpreter within ${shimTimeoutMs / 1_000} s`;
    const usable =
      pinned !== null && isPython.test(basename(pinned)) && (await whyNotExecutable(pinned)) === undefined;
    if (!usable) throw wrong('/command', `cannot be run: ${what}; name the interpreter itself`);
    logger.warn(error, `${what}: ${pinned} is used, as before`);
    return pinned;
  }
}

const isPython = /^python[\d.]*$/;
const shimTimeoutMs = 10_000;
const logger = new Logger('Commands');

async function isScript(path: string): Promise<boolean> {
  const file = await openPlainFile(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer.toString() === '#!';
  } finally {
    await file.close();
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
