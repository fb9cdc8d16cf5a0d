/** A reviver's third argument: the source text of a number. Older browsers pass none. */
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

/** A number that is stored as its text does not count. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && isRaw?.(value) !== true;

/** @returns the value of a text that is JSON, or the text */
export function jsonOrText(text: string): unknown {
  try {
    return readExactly(text);
  } catch {
    return text;
  }
}

/** @returns the members of an object, its numbers as they are written; undefined if the text is no object */
export function jsonObjectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = jsonOrText(text);
  return isObject(value) ? value : undefined;
}
