import { Problem } from '../common/errors.js';

/** A registration that cannot stand. @param pointer JSON pointer to the member that is wrong */
export function wrong(pointer: string, detail: string): Problem {
  return new Problem('invalid_request', `${pointer.slice(1)} ${detail}`, { errors: [{ pointer, detail }] });
}
