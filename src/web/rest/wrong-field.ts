import { invalidRequest, type Problem } from '../../base/common/errors.js';

/** An invalid field of a request. @param pointer JSON pointer to the field */
export function wrong(pointer: string, detail: string): Problem {
  return invalidRequest({ pointer, detail });
}
