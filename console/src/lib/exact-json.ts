/** A reviver's third argument: the source text of a number. Older browsers hand none. */
interface Source {
  readonly source?: string;
}
type Reviver = (this: unknown, name: string, value: unknown, context?: Source) => unknown;

const raw = (JSON as { rawJSON?: (text: string) => unknown }).rawJSON;

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
