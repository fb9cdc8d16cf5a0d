import { invalidRequest, type Problem } from '../../base/common/errors.js';

/** The Problem `invalid_request` of one field. @param pointer JSON pointer to the field */
export function wrong(pointer: string, detail: string): Problem {
  return invalidRequest({ pointer, detail });
}
