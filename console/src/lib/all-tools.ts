import type { CustomToolView, ToolView } from './api.js';
import type { Unavailable } from './unavailable.js';

/** Entries of lists of tools. */
export interface ListedTool {
  readonly name: string;
  readonly description: string;
  /** `server`: an MCP server, of which agents call the listed tools. */
  readonly kind: ToolView['kind'] | 'server';
  /** Absent: it can be called. */
  readonly unavailable?: Unavailable | undefined;
}

/** A registered tool is disabled, or cannot be started. */
export const unavailableOf = ({ status, errorMessage }: CustomToolView): Unavailable | undefined =>
  status === 'active'
    ? undefined
    : { state: status === 'error' ? 'error' : 'disabled', why: errorMessage ?? '' };

/** The tools that can be called, the registered ones that cannot (disabled, or not startable), and MCP servers. */
export function allTools(tools: readonly ToolView[], custom: readonly CustomToolView[]): ListedTool[] {
  const registered = new Map(custom.map((each) => [each.name, unavailableOf(each)]));
  const callable = new Set(tools.map(({ name }) => name));
  const hidden = custom
    .filter(({ name }) => !callable.has(name))
    .map(({ name, description, protocol }) => ({
      ...{ name, description, kind: protocol === 'mcp' ? ('server' as const) : ('custom' as const) },
      unavailable: registered.get(name),
    }));
  const listed = tools.map((tool) => ({
    ...tool,
    unavailable: registered.get(tool.name) ?? tool.unavailable,
  }));
  return [...listed, ...hidden];
}

/** The MCP server that offers a tool: the part of its name before the `__`. */
export const serverOf = (tool: string): string => tool.split('__')[0] ?? tool;
