import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, open, realpath, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, isAbsolute, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Problem } from '../common/errors.js';
import { hostVariable } from '../config/host-environment.js';
import type { ProcessSpec } from '../process-pool/pool.types.js';
import type { CustomTool } from './custom-tool.entity.js';

export type LaunchSettings = Pick<CustomTool, 'command' | 'args' | 'workingDir' | 'env' | 'permissions'>;

/**
 * Resolves what a tool's process is started from: the real interpreter, the working directory, a clean environment.
 * @param root where relative working directories begin
 * @throws Problem `invalid_request` that names the field
 */
export async function launchSpec(tool: LaunchSettings, root: string): Promise<ProcessSpec> {
  const cwd = resolve(root, tool.workingDir ?? '.');
  if (!(await isDirectory(cwd))) throw wrong('/workingDir', `is not a directory: ${cwd}`);
  const env = toolEnvironment(tool);
  const command = await realInterpreter(await findExecutable(tool.command, cwd, env['PATH'] ?? ''), env);
  return { command, args: tool.args, cwd, env };
}

/** Built from nothing: four names of the host, those the tool was granted, and the tool's own. */
function toolEnvironment({ env, permissions }: LaunchSettings): Record<string, string> {
  const granted = ['PATH', 'HOME', 'LANG', ...(permissions?.allowedEnvironmentVars ?? [])];
  const inherited = granted.flatMap((name) => {
    const value = hostVariable(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { LANG: 'C.UTF-8', TMPDIR: tmpdir(), ...Object.fromEntries(inherited), ...env };
}

async function findExecutable(command: string, cwd: string, path: string): Promise<string> {
  const candidates = command.includes('/')
    ? [isAbsolute(command) ? command : resolve(cwd, command)]
    : path.split(delimiter).map((folder) => join(folder, command));
  let reason = 'was not found on the PATH';
  for (const candidate of candidates) {
    const problem = await whyNotExecutable(candidate);
    if (problem === undefined) return candidate;
    if (command.includes('/')) reason = problem;
  }
  throw wrong('/command', `${JSON.stringify(command)} ${reason}`);
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

/** `python3` may be a shim script that costs 100 ms a start: the interpreter itself says where it is. */
async function realInterpreter(path: string, env: Record<string, string>): Promise<string> {
  if (!/^python[\d.]*$/.test(basename(path)) || !(await isScript(path))) return path;
  try {
    const ask = promisify(execFile)(path, ['-c', 'import sys; print(sys.executable)'], {
      env,
      timeout: 10_000,
    });
    return await realpath((await ask).stdout.trim());
  } catch {
    return path;
  }
}

async function isScript(path: string): Promise<boolean> {
  const file = await open(path);
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

export function wrong(pointer: string, detail: string): Problem {
  return new Problem('invalid_request', `${pointer.slice(1)} ${detail}`, { errors: [{ pointer, detail }] });
}
