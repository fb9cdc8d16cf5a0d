/** A reviver's third argument: the source text of a number. Older browsers hand none. */
interface Source {
  readonly source?: string;
}
type Reviver = (this: unknown, name: string, value: unknown, context?: Source) => unknown;

const { rawJSON: raw, isRawJSON: isRaw } = JSON as {
  readonly rawJSON?: (text: string) => unknown;
  readonly isRawJSON?: (value: unknown) => boolean;
};

/**
 * Reads JSON so that numbers which JavaScript cannot hold are written out again as they came.
 * @throws SyntaxError
 */
export function readExactly(text: string): unknown {
  const keep: Reviver = (_, value, context) =>
    typeof value === 'number' && raw && context?.source !== undefined && String(value) !== context.source
      ? raw(context.source)
      : value;
  return JSON.parse(text, keep);
}

/** Precedes the digits of a number that JavaScript would round, where a form needs plain values. */
const mark = '\u0000';
const jsonNumber = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const maxExactDigits = 15;

/** Reads JSON for a form: a number that JavaScript would round becomes a marked text. @throws SyntaxError */
export function readForForm(text: string): unknown {
  const keep: Reviver = (_, value, context) =>
    typeof value === 'number' && context?.source !== undefined ? numberIn(context.source) : value;
  return JSON.parse(text, keep);
}

/** Writes what `readForForm` read, each number with its own digits. */
export const writeFromForm = (value: unknown): string =>
  JSON.stringify(value, null, 2).replaceAll(/"\\u0000(-?\d[\d.eE+-]*)"/g, '$1');

/** The value of typed digits: marked, if JavaScript would write them otherwise; the text itself, if it is no number. */
export function numberIn(text: string): number | string {
  const value = Number(text);
  if (jsonNumber.test(text)) return String(value) === text ? value : mark + text;
  return Number.isFinite(value) && text.length <= maxExactDigits ? value : text;
}

/** The digits of a number of a form. */
export const digitsOf = (value: string | number | undefined): string => String(value ?? '').replace(mark, '');

/** The number that marked digits are nearest to; anything else as it is. */
export const rounded = (value: unknown): unknown =>
  typeof value === 'string' && value.startsWith(mark) ? Number(digitsOf(value)) : value;

/** A number that is kept as it came is none. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && isRaw?.(value) !== true;

/** @returns the members of an object, its numbers as they are written; undefined for a text that is none */
export function jsonObjectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = readExactly(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
