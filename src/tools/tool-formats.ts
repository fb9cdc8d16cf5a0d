import type { JsonSchema, Tool, ToolDefinition } from '../tool-contract/tool.js';

/**
 * How agent platforms want tools described; see each platform's own documentation. Names need no other form: what a
 * tool may be called all of them accept.
 */
export const toolFormats = {
  openai: ({ name, description, inputSchema }: ToolDefinition) => ({
    type: 'function' as const,
    function: { name, description, parameters: ofObject(inputSchema) },
  }),
  anthropic: ({ name, description, inputSchema }: ToolDefinition) => ({
    name,
    description,
    input_schema: ofObject(inputSchema),
  }),
  mcp: ({ name, description, inputSchema, annotations }: ToolDefinition) => ({
    name,
    description,
    inputSchema: ofObject(inputSchema),
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
  /** A tool of a HolmesGPT toolset: its parameters by name, each with whether it is required. */
  holmes: ({ name, description, inputSchema }: ToolDefinition) => {
    const { properties, required = [] } = ofObject(inputSchema);
    const parameters = Object.entries(properties).map(([parameter, schema]) => [
      parameter,
      { type: 'string', ...schema, required: required.includes(parameter) },
    ]);
    return { name, description, parameters: Object.fromEntries(parameters) as object };
  },
} as const;

interface ObjectSchema extends JsonSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
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

export type ToolFormat = keyof typeof toolFormats;
export const toolFormatNames = Object.keys(toolFormats) as ToolFormat[];

/** Our own full view, or a platform's format. */
export function describeTool({ definition }: Tool, format: ToolFormat | undefined): object {
  return format ? toolFormats[format](definition) : definition;
}
