import { invalidRequest, Problem } from '../../base/common/errors.js';

/** The Problem `invalid_request` of one field. @param pointer JSON pointer to the field */
export function wrong(pointer: string, detail: string): Problem {
  return invalidRequest({ pointer, detail });
}

/** A well-formed request for a grant that the operator has not made: status 422 instead of 400. */
export function notGranted(pointer: string, detail: string): Problem {
  const { code, detail: sentence, details } = wrong(pointer, detail);
  return new Problem(code, sentence, { ...details, status: 422 });
}
