import type { Tool, ToolDefinition } from '../tool-contract/tool.js';

/** How agent platforms want tools described; see each platform's own documentation. */
export const toolFormats = {
  openai: ({ name, description, inputSchema }: ToolDefinition) => ({
    type: 'function',
    function: { name, description, parameters: inputSchema },
  }),
  anthropic: ({ name, description, inputSchema }: ToolDefinition) => ({
    name,
    description,
    input_schema: inputSchema,
  }),
  mcp: ({ name, description, inputSchema, annotations }: ToolDefinition) => ({
    name,
    description,
    inputSchema,
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
    parameters: inputSchema,
  }),
} as const;

export type ToolFormat = keyof typeof toolFormats;
export const toolFormatNames = Object.keys(toolFormats) as ToolFormat[];

/** Our own full view, or a platform's format. */
export function describeTool({ definition }: Tool, format: ToolFormat | undefined): object {
  return format ? toolFormats[format](definition) : definition;
}
