import { Problem } from './errors.js';

/** JSON.stringify calls itself for each level, and overflows the stack at some thousand of them. */
export const writableLevels = 1_000;

/**
 * Stops at the first branch that is too deep, so that the recursion is bounded by the limit. Each result of a tool is
 * looked through: no arrays of keys or values are made for it, and only what may hold something is entered.
 * @param value as JSON.parse gives it
 */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const child of value as unknown[]) {
      if (typeof child === 'object' && isDeeperThan(child, levels - 1)) return true;
    }
    return false;
  }
  for (const key in value) {
    const child = (value as Record<string, unknown>)[key];
    if (typeof child === 'object' && isDeeperThan(child, levels - 1)) return true;
  }
  return false;
}

export const tooDeep = `is nested deeper than ${writableLevels} levels`;

/** The beginning of a value's JSON. A value from outside may have been read and still be too deep to be written. */
export function jsonExcerpt(value: unknown, chars: number): string {
  return isDeeperThan(value, writableLevels)
    ? `(JSON of more than ${writableLevels} levels)`
    : JSON.stringify(value).slice(0, chars);
}

/**
 * The walks over a body recurse: a body that is nested without end must not reach them.
 * @throws Problem `invalid_request`
 */
export function refuseDeepBody(body: unknown, most: number): void {
  if (!isDeeperThan(body, most)) return;
  throw new Problem('invalid_request', `The body is nested deeper than ${most} levels`);
}
