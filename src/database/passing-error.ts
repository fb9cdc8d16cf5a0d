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
const passingStates = new Set(['57P03', '53300']);

/** Whether a connection that failed so may succeed a little later. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined
    ? /connection.*(timeout|terminated)|timeout expired/i.test(error.message)
    : networkCodes.has(code) || passingStates.has(code);
}

export interface WhyUnavailable {
  /** The driver's or the server's message; it may name hosts and users. */
  readonly reason: string;
  /** The server is there, and gave up a statement that took too long. */
  readonly tooSlow: boolean;
}

const statementTimeout = '57014';
/**
 * SQLSTATE: connection lost or refused, full, shut down, idle for too long in a transaction, no such user or database.
 */
const awayStates = /^(08...|28...|53...|57P0.|25P03|3D000)$/;
/** The driver gives no code to what it says itself. */
const awayMessages =
  /connection.*(timeout|terminated|error)|timeout exceeded|timeout expired|read timeout|not queryable/i;

/** @returns why the database could not be asked; undefined where it answered, if only with an error */
export function whyUnavailable(error: unknown): WhyUnavailable | undefined {
  if (typeof error !== 'object' || error === null || !('message' in error)) return undefined;
  const { code, message, errors } = error as { code?: unknown; message: string; errors?: unknown };
  // A host with several addresses fails once for each, and says nothing itself.
  const [first] = Array.isArray(errors) ? (errors as { message?: string }[]) : [];
  const reason = message || (first?.message ?? String(code));
  if (typeof code !== 'string') return awayMessages.test(message) ? { reason, tooSlow: false } : undefined;
  if (code === statementTimeout) return { reason, tooSlow: true };
  const isAway = awayStates.test(code) || networkCodes.has(code);
  return isAway ? { reason, tooSlow: false } : undefined;
}
