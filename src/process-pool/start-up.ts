import { statSync } from 'node:fs';
import type { Handshake, ProcessSpec, Reply } from './pool.types.js';

/** @returns what the tool says of itself, or a sentence that says why its answer is none */
export function readHandshake(reply: Reply): Handshake | string {
  if ('error' in reply) {
    return `It answered "initialize" with error ${reply.error.code}: ${reply.error.message}`;
  }
  const { result } = reply;
  if (!isObject(result)) return 'It answered "initialize" with a result that is not an object';
  const { inputSchema, maxConcurrency } = result;
  return {
    ...text(result, 'name'),
    ...text(result, 'description'),
    ...text(result, 'version'),
    ...(isObject(inputSchema) ? { inputSchema } : {}),
    ...(Number.isInteger(maxConcurrency) && Number(maxConcurrency) > 0
      ? { maxConcurrency: Number(maxConcurrency) }
      : {}),
  };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function text<K extends string>(from: Readonly<Record<string, unknown>>, key: K): { [P in K]?: string } {
  const value = from[key];
  return typeof value === 'string' ? ({ [key]: value } as { [P in K]: string }) : {};
}

/** One sentence for whoever registered the executable. */
export function whyNotStarted(error: NodeJS.ErrnoException, { command, cwd }: ProcessSpec): string {
  // The system says ENOENT for a missing folder, a missing command and a missing interpreter alike.
  if (!isFolder(cwd)) return `The working directory "${cwd}" does not exist`;
  switch (error.code) {
    case 'ENOENT':
      return `The command "${command}" was not found, or the interpreter in its first line was not`;
    case 'EACCES':
      return `The command "${command}" is not executable`;
    default:
      return `The command "${command}" could not be started: ${error.message}`;
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
