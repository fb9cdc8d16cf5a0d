import type { CustomToolView, ToolView } from './api.js';

/** Entries of lists of tools. */
export interface ListedTool {
  readonly name: string;
  readonly description: string;
  /** A `server` is one of MCP: what agents call are the tools that it lists. */
  readonly kind: ToolView['kind'] | 'server';
}

/** The tools that can be called, the registered ones that cannot (disabled, or not startable), and MCP servers. */
export function allTools(tools: readonly ToolView[], custom: readonly CustomToolView[]): ListedTool[] {
  const callable = new Set(tools.map(({ name }) => name));
  const hidden = custom
    .filter(({ name }) => !callable.has(name))
    .map(({ name, description, protocol }) => ({
      ...{ name, description, kind: protocol === 'mcp' ? ('server' as const) : ('custom' as const) },
    }));
  return [...tools, ...hidden];
}
