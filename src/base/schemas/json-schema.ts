/** A JSON Schema that is an object. */
export type JsonSchema = Readonly<Record<string, unknown>>;
