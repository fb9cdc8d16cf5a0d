import type { ToolAnnotations, ToolDefinition } from '../../../web/contract/tool.js';
import { isToolName, type McpDefinition, mcpToolName } from '../../mcp-client/mcp-review.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { definitionOf } from './custom-tool-wrapper.js';

/**
 * The definition of an approved tool, without its output schema.
 * @param hasNoNetwork whether its sandbox keeps it from all networks
 */
export const mcpDefinitionOf = (
  tool: CustomTool,
  approved: McpDefinition,
  hasNoNetwork = false,
): ToolDefinition => ({
  ...definitionOf(tool),
  name: mcpToolName(tool.name, approved.name),
  ...(approved.title !== undefined && { title: approved.title }),
  description: approved.description ?? approved.title ?? '',
  kind: 'mcp',
  inputSchema: { ...approved.inputSchema, type: 'object' },
  annotations: {
    ...annotationsOf(approved, tool.annotations),
    ...(!hasNoNetwork && doubtsClosedWorld(approved, tool) && { openWorld: true }),
  },
  hints: approved.annotations ?? {},
});

/** Definitions of a server's approved tools, without their output schemas. */
export const mcpDefinitionsOf = (tool: CustomTool): ToolDefinition[] =>
  (tool.definitions ?? [])
    .filter(({ name }) => isToolName(name))
    .map((approved) => mcpDefinitionOf(tool, approved));

/**
 * Whether a tool claims to act on no outside systems, but the registration of its server does not. The registration
 * decides, unless the sandbox has no network.
 */
export const doubtsClosedWorld = ({ annotations }: McpDefinition, server: CustomTool): boolean =>
  annotations?.openWorldHint === false && server.annotations.openWorld;

function annotationsOf({ annotations = {} }: McpDefinition, server: ToolAnnotations): ToolAnnotations {
  return {
    readOnly: annotations.readOnlyHint ?? server.readOnly,
    idempotent: annotations.idempotentHint ?? server.idempotent,
    destructive: annotations.destructiveHint ?? server.destructive,
    openWorld: annotations.openWorldHint ?? server.openWorld,
  };
}
