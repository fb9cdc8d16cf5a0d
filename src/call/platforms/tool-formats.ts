import type { ToolDefinition } from '../../web/contract/tool.js';
import type { JsonSchema } from '../../base/schemas/json-schema.js';
import { objectSchema, platformSchema } from './platform-schema.js';
import { strictSchema } from './strict-schemas.js';
import { isObject } from '../../base/common/json.js';
import { partAt } from '../../base/schemas/schema-references.js';

/** Functions that describe a tool in the format of each agent platform. */
export const toolFormats = {
  /** The format of chat completions. */
  openai: ({ name, description, inputSchema }: ToolDefinition, strict = false) => {
    const { parameters, isStrict } = parametersOf(inputSchema, strict);
    return {
      type: 'function' as const,
      function: { name, description, parameters, ...(isStrict && { strict: true }) },
    };
  },
  /** The format of the Responses API, where a tool without `strict` counts as strict. */
  'openai-responses': ({ name, description, inputSchema }: ToolDefinition, strict = false) => {
    const { parameters, isStrict } = parametersOf(inputSchema, strict);
    return { type: 'function' as const, name, description, parameters, strict: isStrict };
  },
  anthropic: ({ name, description, inputSchema }: ToolDefinition) => ({
    name,
    description,
    input_schema: platformSchema(inputSchema).schema,
  }),
  mcp: ({ name, title, description, inputSchema, outputSchema, icons, meta, ...tool }: ToolDefinition) => {
    const annotations = hintsOf(tool);
    return {
      name,
      ...(title !== undefined && { title }),
      description,
      inputSchema: objectSchema(inputSchema),
      ...(outputSchema && {
        outputSchema: isOfObject(outputSchema) ? objectSchema(outputSchema) : outputSchema,
      }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ...(icons && { icons }),
      ...(meta && { _meta: meta }),
    };
  },
  /** Distri's function tools take `parameters`, not `input_schema`. */
  distri: ({ name, description, inputSchema }: ToolDefinition) => ({
    name,
    description,
    type: 'function',
    parameters: platformSchema(inputSchema).schema,
  }),
  /** A tool of a HolmesGPT toolset: its parameters by name. */
  holmes: ({ name, description, inputSchema }: ToolDefinition) => ({
    name,
    description,
    parameters: holmesParameters(platformSchema(inputSchema).schema),
  }),
} as const;

export type ToolFormat = keyof typeof toolFormats;
export const toolFormatNames = Object.keys(toolFormats) as ToolFormat[];

/** Formats with a strict form, in which the platform enforces the schema. */
export const strictFormats: readonly ToolFormat[] = ['openai', 'openai-responses'];

/** Whether clients of all MCP revisions accept it as an output schema: before 2026-07-28 only objects are allowed. */
export const isOfObject = ({ type }: JsonSchema): boolean => type === 'object';

/** MCP's hints: those that an MCP server lists, and those of its registration that differ from MCP's defaults. */
function hintsOf({ annotations, hints }: Pick<ToolDefinition, 'annotations' | 'hints'>): object {
  const { readOnly, idempotent, destructive, openWorld } = annotations;
  return {
    ...((!hints || readOnly) && { readOnlyHint: readOnly }),
    ...((!hints || idempotent) && { idempotentHint: idempotent }),
    ...((!hints || !destructive) && { destructiveHint: destructive }),
    ...((!hints || !openWorld) && { openWorldHint: openWorld }),
    ...hints,
  };
}

/** The parameters in strict form if wanted. A schema without a strict form stays as it is. */
function parametersOf(schema: JsonSchema, strict: boolean): { parameters: JsonSchema; isStrict: boolean } {
  const open = platformSchema(schema).schema;
  const closed = strict ? strictSchema(open) : undefined;
  return { parameters: closed ?? open, isStrict: closed !== undefined };
}

/**
 * HolmesGPT's `ToolParameter`: a schema in which each property has its own `required`. It has one type, and only texts in
 * an enum.
 */
interface HolmesParameter {
  readonly type: string;
  readonly required: boolean;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, HolmesParameter>>;
  readonly items?: HolmesParameter;
  readonly any_of?: readonly HolmesParameter[];
  readonly additional_properties?: unknown;
  /** Limits and the default, for the model to read. */
  readonly json_schema_extra?: Readonly<Record<string, unknown>>;
}

const ofNumbers = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
const ofTexts = ['minLength', 'maxLength', 'pattern'];
/** Keywords that are passed on in `json_schema_extra`. */
const extraKeywords = ['minItems', 'maxItems', ...ofNumbers, ...ofTexts, 'default'];
/** Max parameters of a tool. References are replaced by their schemas, which may make a schema very large. */
const maxParameters = 1_000;

/** The properties of an object's schema as the parameters of a HolmesGPT tool. */
export function holmesParameters(root: JsonSchema): Record<string, HolmesParameter> {
  let parametersLeft = maxParameters;

  /** Describes one parameter. @param within enclosing references: a recursive one is replaced once */
  function describe(given: unknown, required: boolean, within: readonly unknown[]): HolmesParameter {
    const { $ref, ...beside } = isObject(given) ? given : {};
    const inside = $ref === undefined ? within : [...within, $ref];
    const schema: JsonSchema = { ...(partAt(root, $ref) as object), ...beside };
    const described = { ...typed(schema), required };
    if (parametersLeft-- <= 0 || within.includes($ref)) return described;
    const branches = alternatives(schema);
    // `anyOf [X, null]` is described as X.
    if (branches.length === 1) {
      const { type: _type, ...others } = described;
      return { ...describe(branches[0], required, inside), ...others };
    }
    if (branches.length > 1) {
      const any_of = branches.map((branch) => describe(branch, true, inside));
      return { ...described, type: 'anyOf', any_of };
    }
    const { properties, items, additionalProperties, enum: members } = schema;
    const extra = extraKeywords.filter((name) => name in schema).map((name) => [name, schema[name]]);
    return {
      ...described,
      ...(areTexts(members) && { enum: members }),
      ...(isObject(properties) && { properties: describeProperties(schema, inside) }),
      ...(isObject(items) && { items: describe(items, true, inside) }),
      ...(additionalProperties !== undefined && { additional_properties: additionalProperties }),
      ...(extra.length > 0 && { json_schema_extra: Object.fromEntries(extra) as JsonSchema }),
    };
  }

  function describeProperties(
    { properties, required }: JsonSchema,
    within: readonly unknown[],
  ): Record<string, HolmesParameter> {
    const needed = new Set<unknown>(Array.isArray(required) ? required : []);
    const entries = Object.entries(isObject(properties) ? properties : {});
    return Object.fromEntries(
      entries.map(([name, schema]) => [name, describe(schema, needed.has(name), within)]),
    );
  }

  return describeProperties(root, []);
}

const areTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

/** The type of a schema, stated or implied by its members, and its description. */
function typed(schema: JsonSchema): { readonly type: string; readonly description?: string } {
  const { description, properties, items } = schema;
  let implied = items ? 'array' : 'string';
  if (properties) implied = 'object';
  const stated = [schema['type']].flat().find((each) => typeof each === 'string' && each !== 'null') as
    string | undefined;
  return { type: stated ?? implied, ...(typeof description === 'string' && { description }) };
}

/** The branches of `anyOf` and `oneOf`, except `null`. */
const alternatives = ({ anyOf, oneOf }: JsonSchema): unknown[] =>
  [anyOf ?? oneOf ?? []].flat().filter((branch) => !isObject(branch) || branch['type'] !== 'null');
