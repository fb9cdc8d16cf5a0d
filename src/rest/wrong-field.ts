import { invalidRequest, Problem } from '../common/errors.js';
import { NotRegularFile } from '../common/regular-file.js';

/** A registration that cannot stand. @param pointer JSON pointer to the member that is wrong */
export function wrong(pointer: string, detail: string): Problem {
  return invalidRequest({ pointer, detail });
}

/** A grant that the operator has not made. It is well formed, and answered 422. */
export function notGranted(pointer: string, detail: string): Problem {
  const { code, detail: sentence, details } = wrong(pointer, detail);
  return new Problem(code, sentence, { ...details, status: 422 });
}

const fileErrors = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP']);

/** An error of reading a program's files: a file that is gone, or that the server may not read, is a fault of the registration. */
export function asWrongCommand(error: unknown): unknown {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  const isOfFile = error instanceof NotRegularFile || (syscall !== undefined && fileErrors.has(code ?? ''));
  return isOfFile ? wrong('/command', `cannot be looked at: ${message}`) : error;
}

/** The reason of a Problem for which a tool cannot be started; other errors are thrown on. */
export function asUnavailable(error: unknown): { readonly unavailable: string } {
  if (!(error instanceof Problem)) throw error;
  return { unavailable: error.detail };
}
