import { isObject, type JsonObject } from '../../base/common/json.js';
import type { Tool } from '../../web/contract/tool.js';

/** What an MCP server offers beside its tools. */
export interface ServerOffer {
  /** False until a process of it has listed what there is. */
  readonly isKnown: boolean;
  readonly resources: readonly JsonObject[];
  readonly templates: readonly JsonObject[];
  /** Prompts whose definitions are approved. */
  readonly prompts: readonly JsonObject[];
  /** Whether its prompts keep their own names. */
  readonly isUnprefixed: boolean;
  /** Approved instructions. */
  readonly instructions?: string | undefined;
  readonly completes: boolean;
  /** Resources that its tools name as the pages which show their results: not every server lists them. */
  readonly pages: readonly string[];
}

/** The hidden tool of an MCP server: its reads, prompts and completions are calls of it. */
export interface ServerTool extends Tool {
  readonly server: string;
  /** As the processes of a project list it. */
  offer(project: string): ServerOffer;
  /** Whether a tool of the server gave this link to the project. */
  hasLink(project: string, uri: string): boolean;
  /** Starts a process for a project, so that it lists what there is. @throws Error if there can be none */
  wake(project: string): Promise<void>;
}

/** No tool has such a name, and patterns that name all tools of a server match it. */
export const serverToolName = (server: string): string => `${server}__/mcp`;

/** The page that shows a tool's results (MCP Apps), as its `_meta` names it. */
export function pageOfTool(meta: unknown): string | undefined {
  const { ui, 'ui/resourceUri': old } = isObject(meta) ? meta : {};
  const uri = isObject(ui) ? ui['resourceUri'] : old;
  return typeof uri === 'string' ? uri : undefined;
}
