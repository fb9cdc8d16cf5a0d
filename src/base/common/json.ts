/** An object of JSON. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a JSON value is an object, and neither a list nor null. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * A JSON value without the members that are null, at any depth. Many serialisers write null for an absent member.
 * @param untouched names of members that stay as they are
 */
export function withoutNulls(value: unknown, untouched: readonly string[] = []): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutNulls(each, untouched));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      if (untouched.includes(name)) return [[name, member]];
      return member === null ? [] : [[name, withoutNulls(member, untouched)]];
    }),
  );
}
