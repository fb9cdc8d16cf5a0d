import type { ToolAnnotations, ToolDefinition } from '../../../web/contract/tool.js';
import { isToolName, type McpDefinition, mcpToolName } from '../../mcp-client/mcp-review.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { definitionOf } from './custom-tool-wrapper.js';

/** An approved tool, without its output schema. */
export const mcpDefinitionOf = (
  tool: CustomTool,
  approved: McpDefinition,
  isClosed = false,
): ToolDefinition => ({
  ...definitionOf(tool),
  name: mcpToolName(tool.name, approved.name),
  ...(approved.title !== undefined && { title: approved.title }),
  description: approved.description ?? approved.title ?? '',
  kind: 'mcp',
  inputSchema: { ...approved.inputSchema, type: 'object' },
  annotations: {
    ...annotationsOf(approved, tool.annotations),
    ...(!isClosed && isDoubted(approved, tool) && { openWorld: true }),
  },
  hints: approved.annotations ?? {},
});

/** The approved tools of a server, without their output schemas. */
export const mcpDefinitionsOf = (tool: CustomTool): ToolDefinition[] =>
  (tool.definitions ?? [])
    .filter(({ name }) => isToolName(name))
    .map((approved) => mcpDefinitionOf(tool, approved));

/** It claims to reach nobody: without a closed sandbox only the registration decides that. */
export const isDoubted = ({ annotations }: McpDefinition, server: CustomTool): boolean =>
  annotations?.openWorldHint === false && server.annotations.openWorld;

function annotationsOf({ annotations = {} }: McpDefinition, server: ToolAnnotations): ToolAnnotations {
  return {
    readOnly: annotations.readOnlyHint ?? server.readOnly,
    idempotent: annotations.idempotentHint ?? server.idempotent,
    destructive: annotations.destructiveHint ?? server.destructive,
    openWorld: annotations.openWorldHint ?? server.openWorld,
  };
}
