import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseUnavailable, isDatabaseUnavailable } from '../common/errors.js';

/** Error codes of failed connections. */
const networkCodes = new Set(
  'ECONNREFUSED ECONNRESET EPIPE ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH ETIMEDOUT'.split(' '),
);
/** SQLSTATEs of a server that is starting, restarting or full. */
const transientStates = new Set(['57P03', '53300']);

/** Whether a failed connection may succeed a little later. */
export function isTransient(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  if (!(error instanceof Error)) return false;
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined
    ? /connection.*(timeout|terminated)|timeout expired/i.test(error.message)
    : networkCodes.has(code) || transientStates.has(code);
}

/** Pause between two tries at the start. */
const startPauseMs = 500;
/** Max tries at the start, about half a minute. */
const startTries = 60;

/** Repeats work of the start while the database does not answer. @throws the error of the last try */
export async function retryAtStart<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isDatabaseUnavailable(error) || tries === startTries) throw error;
      await delay(startPauseMs);
    }
  }
}

/** SQLSTATE classes of errors that a value causes: data exception, integrity violation, limit exceeded. */
const valueAtFault = /^(22|23|54)[\dA-Z]{3}$/;

/** Whether a value caused an error, so that a retry would fail again. */
export const isValueFault = (error: unknown): boolean => valueAtFault.test(sqlStateOf(error) ?? '');

/** SQLSTATE of an error of the driver or of TypeORM. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  // TypeORM wraps the driver's error.
  const { code, driverError } = error as { code?: unknown; driverError?: { code?: unknown } };
  const state = driverError?.code ?? code;
  return typeof state === 'string' ? state : undefined;
}
