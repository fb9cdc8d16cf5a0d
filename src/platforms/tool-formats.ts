import type { ToolDefinition } from '../tool-contract/tool.js';
import type { JsonSchema } from '../schemas/json-schema.js';
import { holmesParameters } from './holmes-parameters.js';
import { objectSchema, platformSchema } from './platform-schema.js';
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
    input_schema: platformSchema(inputSchema).schema,
  }),
  mcp: ({ name, description, inputSchema, outputSchema, annotations }: ToolDefinition) => ({
    name,
    description,
    inputSchema: objectSchema(inputSchema),
    ...(outputSchema && { outputSchema: objectSchema(outputSchema) }),
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

/** Those in which a platform can be told to keep to the schema. */
export const strictFormats: readonly ToolFormat[] = ['openai', 'openai-responses'];

/** A schema without a strict form is given as it is. */
function parametersOf(schema: JsonSchema, strict: boolean): { parameters: JsonSchema; isStrict: boolean } {
  const open = platformSchema(schema).schema;
  const closed = strict ? strictSchema(open) : undefined;
  return { parameters: closed ?? open, isStrict: closed !== undefined };
}
