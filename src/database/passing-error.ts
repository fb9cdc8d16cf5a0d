/** Network errors and SQLSTATEs of a server that is starting, restarting or full. */
const passingCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ETIMEDOUT',
  '57P03',
  '53300',
]);

/** Whether a connection that failed so may succeed a little later. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined
    ? /connection.*(timeout|terminated)|timeout expired/i.test(error.message)
    : passingCodes.has(code);
}
