/** The server cannot start; the message says why and what to do, so that a stack trace would add nothing. */
export class StartError extends Error {
  override readonly name: string = 'StartError';
}
