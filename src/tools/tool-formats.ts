import type { JsonSchema, ToolDefinition } from '../tool-contract/tool.js';
import { holmesParameters } from './holmes-parameters.js';
import { strictSchema } from './strict-schemas.js';

/** How agent platforms want tools described; see each platform's own documentation. */
export const toolFormats = {
  /** For chat completions. */
  openai: ({ name, description, inputSchema }: ToolDefinition, strict = false) => {
    const { parameters, isStrict } = parametersOf(inputSchema, strict);
    return {
      type: 'function' as const,
      function: { name, description, parameters, ...(isStrict && { strict: true }) },
    };
  },
  /** For responses, which take a tool for strict that does not say whether it is. */
  'openai-responses': ({ name, description, inputSchema }: ToolDefinition, strict = false) => {
    const { parameters, isStrict } = parametersOf(inputSchema, strict);
    return { type: 'function' as const, name, description, parameters, strict: isStrict };
  },
  anthropic: ({ name, description, inputSchema }: ToolDefinition) => ({
    name,
    description,
    input_schema: ofObject(inputSchema),
  }),
  mcp: ({ name, description, inputSchema, outputSchema, annotations }: ToolDefinition) => ({
    name,
    description,
    inputSchema: ofObject(inputSchema),
    ...(outputSchema && { outputSchema: ofObject(outputSchema) }),
    annotations: {
      readOnlyHint: annotations.readOnly,
      idempotentHint: annotations.idempotent,
      destructiveHint: annotations.destructive,
      openWorldHint: annotations.openWorld,
    },
  }),
  /** Distri's function tools take `parameters`, not `input_schema`. */
  distri: ({ name, description, inputSchema }: ToolDefinition) => ({
    name,
    description,
    type: 'function',
    parameters: ofObject(inputSchema),
  }),
  /** A tool of a HolmesGPT toolset: its parameters by name. */
  holmes: ({ name, description, inputSchema }: ToolDefinition) => ({
    name,
    description,
    parameters: holmesParameters(inputSchema),
  }),
} as const;

export type ToolFormat = keyof typeof toolFormats;
export const toolFormatNames = Object.keys(toolFormats) as ToolFormat[];

/** Those in which a platform can be told to keep to the schema. */
export const strictFormats: readonly ToolFormat[] = ['openai', 'openai-responses'];

interface ObjectSchema extends JsonSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, object>>;
}

/** Platforms read a schema of an object with schemas that are objects: `true` becomes `{}`, and what is not said is said. */
function ofObject(schema: JsonSchema): ObjectSchema {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, object | boolean>);
  const asObject = (property: object | boolean): object =>
    typeof property === 'object' ? property : property ? {} : { not: {} };
  return {
    ...schema,
    type: 'object',
    properties: Object.fromEntries(properties.map(([name, property]) => [name, asObject(property)])),
  };
}

/** A schema without a strict form is given as it is. */
function parametersOf(schema: JsonSchema, strict: boolean): { parameters: JsonSchema; isStrict: boolean } {
  const closed = strict ? strictSchema(schema) : undefined;
  return { parameters: closed ?? ofObject(schema), isStrict: closed !== undefined };
}
