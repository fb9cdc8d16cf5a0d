import type { JsonObject } from '../../base/common/json.js';
import type { ServerTool } from '../../call/door/server-tool.js';
import type { ToolRegistry } from '../../call/door/tool-registry.js';
import type { Principal, ToolChoice } from '../../web/contract/principal.js';

/** Kinds of members: single tools, prompts and resources, all tools with a tag, or everything of an MCP server. */
export const memberKinds = ['tool', 'prompt', 'resource', 'tag', 'server'] as const;
/** A member of a virtual server: it has one of the kinds; `as` and `description` replace those of a single item. */
export type Member = { readonly [part in (typeof memberKinds)[number] | 'as' | 'description']?: string };

/** A row of `mcp_servers`. */
export interface StoredServer {
  readonly name: string;
  readonly members: Member[];
  readonly instructions?: string | null;
}

/** A set of tools, resources and prompts with its own MCP address. */
export class VirtualServer implements ToolChoice {
  private cachedContents: Contents | undefined;

  constructor(
    readonly stored: StoredServer,
    private readonly registry: ToolRegistry,
  ) {}

  /** The contents of the set at present. */
  get contents(): Contents {
    return (this.cachedContents ??= contentsOf(this.stored.members, this.registry));
  }

  /** Recomputes the contents at the next use, after a change of the registry. */
  forgetContents(): void {
    this.cachedContents = undefined;
  }

  /**
   * Whether a tool may be called: one in the set, or the hidden tool of an MCP server by which its prompts and resources are
   * read; `select` limits which ones.
   */
  has(tool: string): boolean {
    const { originalNames, singleOffers, servers } = this.contents;
    if (originalNames.has(tool)) return true;
    const hidden = this.registry.findServer(tool);
    return hidden !== undefined && (singleOffers.size > 0 || servers.has(hidden.server));
  }

  /** The prompts or resources of MCP servers that belong to this set, with their names and descriptions in it. */
  select<T extends { readonly key: string; readonly server: ServerTool; readonly item: JsonObject }>(
    kind: 'resource' | 'prompt',
    all: readonly T[],
  ): T[] {
    const { singleOffers, wholeServers } = this.contents;
    return all.flatMap((each) => {
      const member = singleOffers.get(`${kind} ${each.key}`);
      if (!member) return wholeServers.has(each.server.server) ? [each] : [];
      const { as: name, description } = member;
      const item = { ...each.item, ...(name && { name }), ...(description && { description }) };
      return [{ ...each, key: (kind === 'prompt' && name) || each.key, item }];
    });
  }
}

/** A tool or prompt in a set, which may rename it. */
interface NamedItem {
  readonly originalName: string;
  readonly description?: string | undefined;
}

interface Contents {
  /** Tools by their names in the set. */
  readonly tools: ReadonlyMap<string, NamedItem>;
  /** The original names of all tools and prompts (`prompt <name>`) in the set. */
  readonly originalNames: ReadonlySet<string>;
  /** Named tools that do not exist at present. */
  readonly missing: readonly string[];
  /** Names that two members have, with their original names. */
  readonly clashes: readonly string[];
  /** Members that are single prompts and resources, by kind and original name. */
  readonly singleOffers: ReadonlyMap<string, Member>;
  /** MCP servers that belong to the set as a whole. */
  readonly wholeServers: ReadonlySet<string>;
  /** MCP servers that belong to the set as a whole, or have a tool in it. */
  readonly servers: ReadonlySet<string>;
}

function contentsOf(members: readonly Member[], registry: ToolRegistry): Contents {
  /** Tools and prompts by their names in the set. */
  const items = new Map<string, NamedItem>();
  const clashes: string[] = [];
  const add = (name: string, originalName: string, description?: string): void => {
    const holder = items.get(name) ?? { originalName, description };
    items.set(name, holder);
    if (holder.originalName !== originalName)
      clashes.push(`${name} (${holder.originalName}, ${originalName})`);
  };
  const missing: string[] = [];
  const singleOffers = new Map<string, Member>();
  for (const member of members) {
    const { tool, prompt, resource, as, description } = member;
    const known = tool === undefined ? undefined : registry.find(tool);
    if (known) add(as ?? registry.nameIn('mcp', known), known.definition.name, description);
    else if (tool !== undefined) missing.push(tool);
    if (prompt !== undefined) {
      add(`prompt ${as ?? prompt}`, `prompt ${prompt}`);
      singleOffers.set(`prompt ${prompt}`, member);
    }
    if (resource !== undefined) singleOffers.set(`resource ${resource}`, member);
  }
  const originalNames = new Set([...items.values()].map((item) => item.originalName));
  const tags = new Set(members.map(({ tag }) => tag));
  const isTagged = ({ definition }: Pick<ServerTool, 'definition'>): boolean =>
    definition.tags.some((tag) => tags.has(tag));
  const tagged = registry.allServers().filter(isTagged);
  const named = members.flatMap(({ server }) => server ?? []);
  const wholeServers = new Set([...named, ...tagged.map(({ server }) => server)]);
  const servers = new Set(wholeServers);
  for (const tool of registry.all()) {
    const { name, kind } = tool.definition;
    // The name of an MCP server does not contain `__`.
    const [server = ''] = kind === 'mcp' ? name.split('__') : [];
    const isNamed = originalNames.has(name);
    if (!isNamed && !wholeServers.has(server) && !isTagged(tool)) continue;
    servers.add(server);
    if (!isNamed) add(registry.nameIn('mcp', tool), name);
    originalNames.add(name);
  }
  const tools = new Map([...items].filter(([name]) => !name.startsWith('prompt ')));
  return { tools, originalNames, missing, clashes, singleOffers, wholeServers, servers };
}

/** The virtual MCP server of a request. */
export const virtualServerOf = ({ choice }: Principal): VirtualServer | undefined =>
  choice instanceof VirtualServer ? choice : undefined;
