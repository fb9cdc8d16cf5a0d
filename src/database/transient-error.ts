import { DatabaseUnavailable } from '../common/errors.js';

const networkCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
]);
/** SQLSTATEs of a server that is starting, restarting or full. */
const transientStates = new Set(['57P03', '53300']);

/** Whether a connection that failed so may succeed a little later. */
export function isTransient(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  if (!(error instanceof Error)) return false;
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined
    ? /connection.*(timeout|terminated)|timeout expired/i.test(error.message)
    : networkCodes.has(code) || transientStates.has(code);
}
