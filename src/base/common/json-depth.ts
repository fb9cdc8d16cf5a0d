import { Problem } from './errors.js';

/** Max levels of a value for JSON.stringify, which recurses and overflows the stack at some thousand levels. */
export const writableLevels = 1_000;

/**
 * Whether a JSON value has more than `levels` levels. Stops at the first branch that is too deep, which bounds the
 * recursion. Allocates nothing, because it runs for each result of a tool.
 * @param value as JSON.parse returns it
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

/** The reason to refuse a value with too many levels. */
export const tooDeep = `is nested deeper than ${writableLevels} levels`;

/** The first `chars` characters of a value's JSON, or a note if the value is too deep for JSON.stringify. */
export function jsonExcerpt(value: unknown, chars: number): string {
  return isDeeperThan(value, writableLevels)
    ? `(JSON of more than ${writableLevels} levels)`
    : JSON.stringify(value).slice(0, chars);
}

/** Refuses a body that is nested too deep for the recursive functions that read it. @throws Problem `invalid_request` */
export function refuseDeepBody(body: unknown, maxLevels: number): void {
  if (!isDeeperThan(body, maxLevels)) return;
  throw new Problem('invalid_request', `The body is nested deeper than ${maxLevels} levels`);
}
