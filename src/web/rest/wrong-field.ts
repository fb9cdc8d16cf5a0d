import { invalidRequest, Problem } from '../../base/common/errors.js';
import { NotRegularFile } from '../../base/common/regular-file.js';

/** An invalid field of a request. @param pointer JSON pointer to the field */
export function wrong(pointer: string, detail: string): Problem {
  return invalidRequest({ pointer, detail });
}

/** A well-formed request for a grant that the operator has not made: status 422 instead of 400. */
export function notGranted(pointer: string, detail: string): Problem {
  const { code, detail: sentence, details } = wrong(pointer, detail);
  return new Problem(code, sentence, { ...details, status: 422 });
}

const fileErrors = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP']);

/** Maps a missing or unreadable program file to a problem of the field `command`; returns other errors unchanged. */
export function asWrongCommand(error: unknown): unknown {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  const isOfFile = error instanceof NotRegularFile || (syscall !== undefined && fileErrors.has(code ?? ''));
  return isOfFile ? wrong('/command', `cannot be read: ${message}`) : error;
}

/** Why a tool cannot be started, taken from a Problem. Rethrows all other errors. */
export function asUnavailable(error: unknown): { readonly unavailable: string } {
  if (!(error instanceof Problem)) throw error;
  return { unavailable: error.detail };
}
