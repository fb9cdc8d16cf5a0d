import { canonicalJson, sha256 } from '../../common/canonical-json.js';
import { isObject, type JsonObject, withoutNulls } from '../../common/json.js';
import type { JsonSchema } from '../../schemas/json-schema.js';

/** MCP's hints, and a title. */
export interface McpAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** A tool as an MCP server lists it: the members that decide what callers read and how it is called. */
export interface McpDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: McpAnnotations;
}

/** Printable ASCII. Letters of other alphabets look like these. */
const namePattern = /^[ -~]{1,128}$/;
const maxText = 16_384;
/** The caps of a registered tool's schema (docs/tools/protocol.md). */
const maxSchemaBytes = 65_536;
const hints = ['readOnlyHint', 'idempotentHint', 'destructiveHint', 'openWorldHint'] as const;

/** A definition by which a tool could be called, or a sentence that says why it is none. */
export type ReadDefinition = { readonly definition: McpDefinition } | { readonly wrong: string };

/** @param listed as the server gave it, of bounded depth */
export function readDefinition(listed: JsonObject): ReadDefinition {
  const { name, title, description, inputSchema, outputSchema, annotations } = asCompared(listed);
  if (typeof name !== 'string' || !namePattern.test(name))
    return { wrong: 'its name is not 1 to 128 letters, digits and signs of ASCII' };
  for (const [member, value] of Object.entries({ title, description })) {
    if (value !== undefined && typeof value !== 'string') return { wrong: `its ${member} is no text` };
    if (value !== undefined && value.length > maxText)
      return { wrong: `its ${member} has ${value.length} characters, the cap is ${maxText}` };
  }
  if (!isSchema(inputSchema)) return { wrong: 'its inputSchema is no schema of an object' };
  if (outputSchema !== undefined && !isObject(outputSchema))
    return { wrong: 'its outputSchema is no schema' };
  for (const [member, schema] of Object.entries({ inputSchema, outputSchema })) {
    const bytes = Buffer.byteLength(JSON.stringify(schema ?? null));
    if (bytes > maxSchemaBytes)
      return { wrong: `its ${member} is ${bytes} bytes, the cap is ${maxSchemaBytes}` };
  }
  const definition = {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema,
    ...(outputSchema !== undefined && { outputSchema }),
    ...(isObject(annotations) && { annotations: annotationsIn(annotations) }),
  } as McpDefinition;
  return isStorable(definition) ? { definition } : { wrong: 'it holds a NUL or half a character' };
}

/** SHA-256 of the definition's canonical JSON. Stored definitions may hold nulls. */
export const definitionHash = (definition: McpDefinition): string =>
  sha256(canonicalJson(asCompared(definition)));

/** Keywords for which null is a value in JSON Schema. */
const asCompared = <T extends object>(listed: T): T =>
  withoutNulls(listed, ['default', 'const', 'enum', 'examples']) as T;

function annotationsIn(listed: Readonly<Record<string, unknown>>): McpAnnotations {
  const said = hints.flatMap((hint) => (typeof listed[hint] === 'boolean' ? [[hint, listed[hint]]] : []));
  const { title } = listed;
  return Object.fromEntries([
    ...said,
    ...(typeof title === 'string' ? [['title', title]] : []),
  ]) as McpAnnotations;
}

/** The database takes no NUL and no half of a surrogate pair; JSON writes both as escapes. */
const isStorable = (value: unknown): boolean =>
  !/(^|[^\\])(\\\\)*\\u(0000|d[89a-f][0-9a-f]{2})/i.test(JSON.stringify(value));

const isSchema = (value: unknown): value is JsonSchema =>
  isObject(value) && (value['type'] === undefined || value['type'] === 'object');
