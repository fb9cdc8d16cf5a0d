import { statSync } from 'node:fs';
import { type GiveUpReason, PoolFailure, type ProcessSpec } from './pool.types.js';

/** Maximum characters of a quoted line. Quotes end their message, so that the redactor finds a secret cut off there. */
export const quotedChars = 200;

/** The message for a request that was abandoned after `totalMs` while it ran. */
export const givenUpRunning = (
  reason: GiveUpReason,
  totalMs: number,
  other: OtherOutput | undefined,
): string =>
  ({
    timeout: `The tool did not answer within ${totalMs} ms${other ? outputInstead(other) : ''}`,
    cancelled: 'The caller left while the tool ran',
    shutting_down: 'The server stopped while the tool ran',
  })[reason];

/** The message for a request that never reached a process; `why` is the probable cause of the wait. */
export const givenUpWaiting = (reason: GiveUpReason, totalMs: number, why: string): string =>
  ({
    timeout: `No process of the tool was free within ${totalMs} ms: ${why}`,
    cancelled: 'The caller left before a process was free',
    shutting_down: 'The server stopped before a process was free',
  })[reason];

/** The probable cause of a wait while all processes serve calls. */
export const allBusy = (poolSize: number): string =>
  poolSize === 1 ? 'its one process was busy' : `all ${poolSize} of its processes were busy`;

/** Output of a process in place of the expected answer. */
export interface OtherOutput {
  /** The line that has no newline yet. */
  readonly partial: { readonly text: string; readonly bytes: number };
  /** The beginning of an object that is not closed. */
  readonly unclosed: string | undefined;
  /** The last line that is no answer, and why not. */
  readonly last: { readonly line: string; readonly why: string } | undefined;
  /** Whether nothing was written to stdout; false for a remote server, which has no stdout. */
  readonly silent: boolean;
}

/** Explains why the last line of a process answers nothing. */
export const notMessage = 'the last line that it wrote is not a message';
const writesNothing = 'it wrote nothing: flush stdout (print(…, flush=True), python3 -u)';

/** Describes the output in place of an answer. The quoted line may be a malformed answer. */
function outputInstead({ partial, unclosed, last }: OtherOutput): string {
  if (partial.bytes > 0) return quote(`it wrote ${partial.bytes} bytes without a newline`, partial.text);
  if (unclosed !== undefined) return quote('the object that it began is not closed', unclosed);
  return last ? quote(last.why, last.line) : '';
}

const quote = (what: string, line: string): string => `; ${what}: ${line.slice(0, quotedChars)}`;

/** The message for a start that took too long. @param method the request without an answer */
export function lateStart(method: string, ms: number, other: OtherOutput | undefined): string {
  const why = other?.silent ? `; ${writesNothing}` : other && outputInstead(other);
  return `It did not answer "${method}" within ${ms} ms (CUSTOM_TOOLS_START_TIMEOUT)${why ?? ''}`;
}

/** Introduces the end of stderr in the message of a failed start. */
export const stderrMark = '; its stderr ends with: ';

/** Lines of stderr that do not name the error: those of a stack, and lines that interpreters print after the error. */
const uninformative = [
  /^\s*[\^~]*\s*$/,
  /^(\t|\s+(at |\d+: |\.\.\. \d+ |File "))/,
  /^(goroutine \d+|created by |exit status \d+$|Node\.js v|note: run with)/,
  /^[\w./*()[\]-]+\(.*\)$/,
  /^\s*For further information visit/,
];

const maxErrorLineChars = 500;

/** The line of stderr that most likely names the error. */
export function errorLine(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '');
  const isUninformative = (line: string): boolean => uninformative.some((pattern) => pattern.test(line));
  const line = lines.findLast((each) => !isUninformative(each)) ?? lines.at(-1) ?? '';
  return line.trim().slice(0, maxErrorLineChars);
}

/** The message for a request when no process can be started. */
export const cannotStart = (tool: string, error: string): string =>
  `Tool "${tool}" cannot be started: ${error}`;

/** Failures of requests that a pool does not accept. */
export const refusals = {
  queueFull: (tool: string, max: number, maxOfCaller: number) => {
    const message = `Tool "${tool}" may have ${max} calls running and waiting, ${maxOfCaller} of one caller, and has as many`;
    return new PoolFailure('queue_full', message);
  },
  stopping: (tool: string) => new PoolFailure('shutting_down', `Tool "${tool}" is stopping`),
};

/** Explains a spawn error in one sentence for the author of the tool. */
export function whyNotStarted(error: NodeJS.ErrnoException, { command, cwd }: ProcessSpec): string {
  // ENOENT can mean a missing folder, command or interpreter.
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
