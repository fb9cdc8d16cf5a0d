import { isObject, type JsonObject } from '../../base/common/json.js';
import type { Tool } from '../../web/contract/tool.js';

/** Resources and prompts of an MCP server. */
export interface ServerOffer {
  /** Whether a process of the server has listed them. */
  readonly isKnown: boolean;
  readonly resources: readonly JsonObject[];
  readonly templates: readonly JsonObject[];
  /** Prompts whose definitions are approved. */
  readonly prompts: readonly JsonObject[];
  /** Whether its prompts keep their own names. */
  readonly isUnprefixed: boolean;
  /** Approved instructions. */
  readonly instructions?: string | undefined;
  /** Whether it answers `completion/complete`. */
  readonly completes: boolean;
  /** Resources that its tools name as pages for their results. Not all servers list them. */
  readonly pages: readonly string[];
}

/** The hidden tool of an MCP server. Reads, prompts and completions are calls of it. */
export interface ServerTool extends Tool {
  readonly server: string;
  /** The offer to a project, as its processes list it. */
  offer(project: string): ServerOffer;
  /** Whether a tool of the server gave this link to the project. */
  hasLink(project: string, uri: string): boolean;
  /** Starts a process for a project, so that it lists its offer. @throws Error if none can start */
  wake(project: string): Promise<void>;
}

/** The name of an MCP server's hidden tool. No other tool has such a name, but patterns for all tools of the server match it. */
export const serverToolName = (server: string): string => `${server}__/mcp`;

/** The page that shows a tool's results (MCP Apps), as its `_meta` names it. */
export function pageOfTool(meta: unknown): string | undefined {
  const { ui, 'ui/resourceUri': old } = isObject(meta) ? meta : {};
  const uri = isObject(ui) ? ui['resourceUri'] : old;
  return typeof uri === 'string' ? uri : undefined;
}
