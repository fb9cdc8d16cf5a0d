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
    this.cachedContents ??= contentsOf(this.stored.members, this.registry);
    return this.cachedContents;
  }

  /** Recomputes the contents at the next use, after a change of the registry. */
  forgetContents(): void {
    this.cachedContents = undefined;
  }

  /** Whether a tool may be called. True for hidden tools of MCP servers as well; `offered` limits what they read. */
  has(tool: string): boolean {
    const { own, offers, servers } = this.contents;
    if (own.has(tool)) return true;
    const hidden = this.registry.findServer(tool);
    return hidden !== undefined && (offers.size > 0 || servers.has(hidden.server));
  }

  /** The items of MCP servers that belong to this set, with their names and descriptions in it. */
  offered<T extends { readonly key: string; readonly server: ServerTool; readonly item: JsonObject }>(
    kind: 'resource' | 'prompt',
    all: readonly T[],
  ): T[] {
    const { offers, whole } = this.contents;
    return all.flatMap((each) => {
      const member = offers.get(`${kind} ${each.key}`);
      if (!member) return whole.has(each.server.server) ? [each] : [];
      const { as: name, description } = member;
      const item = { ...each.item, ...(name && { name }), ...(description && { description }) };
      return [{ ...each, key: (kind === 'prompt' && name) || each.key, item }];
    });
  }
}

/** A tool in a set: `own` is its original name. */
interface NamedItem {
  readonly own: string;
  readonly description?: string | undefined;
}

/** The contents of a virtual server. */
interface Contents {
  /** Tools by their names in the set. */
  readonly tools: ReadonlyMap<string, NamedItem>;
  /** The original names of all tools and prompts (`prompt <name>`) in the set. */
  readonly own: ReadonlySet<string>;
  /** Named tools that do not exist at present. */
  readonly missing: readonly string[];
  /** Names that two members have, with their original names. */
  readonly clashes: readonly string[];
  /** Members that are single prompts and resources, by kind and original name. */
  readonly offers: ReadonlyMap<string, Member>;
  /** MCP servers that belong to the set as a whole. */
  readonly whole: ReadonlySet<string>;
  /** These, and MCP servers with a tool in the set. */
  readonly servers: ReadonlySet<string>;
}

/** Resolves the members of a virtual server. */
function contentsOf(members: readonly Member[], registry: ToolRegistry): Contents {
  /** Tools and prompts by their names in the set. */
  const holders = new Map<string, NamedItem>();
  const clashes: string[] = [];
  const put = (name: string, own: string, description?: string): void => {
    const holder = holders.get(name) ?? { own, description };
    holders.set(name, holder);
    if (holder.own !== own) clashes.push(`${name} (${holder.own}, ${own})`);
  };
  const missing: string[] = [];
  const offers = new Map<string, Member>();
  for (const member of members) {
    const { tool, prompt, resource, as, description } = member;
    const known = tool === undefined ? undefined : registry.find(tool);
    if (known) put(as ?? registry.nameIn('mcp', known), known.definition.name, description);
    else if (tool !== undefined) missing.push(tool);
    if (prompt !== undefined) put(`prompt ${as ?? prompt}`, `prompt ${prompt}`);
    if (prompt ?? resource) offers.set(prompt ? `prompt ${prompt}` : `resource ${resource}`, member);
  }
  const own = new Set([...holders.values()].map((holder) => holder.own));
  const tags = new Set(members.map(({ tag }) => tag));
  const isTagged = ({ definition }: Pick<ServerTool, 'definition'>): boolean =>
    definition.tags.some((tag) => tags.has(tag));
  const tagged = registry.allServers().filter(isTagged);
  const whole = new Set([
    ...members.flatMap(({ server }) => server ?? []),
    ...tagged.map(({ server }) => server),
  ]);
  const servers = new Set(whole);
  for (const tool of registry.all()) {
    const { name, kind } = tool.definition;
    // The name of an MCP server does not contain `__`.
    const [server = ''] = kind === 'mcp' ? name.split('__') : [];
    if (!own.has(name) && !whole.has(server) && !isTagged(tool)) continue;
    servers.add(server);
    if (!own.has(name)) put(registry.nameIn('mcp', tool), name);
    own.add(name);
  }
  const tools = new Map([...holders].filter(([name]) => !name.startsWith('prompt ')));
  return { tools, own, missing, clashes, offers, whole, servers };
}

/** The virtual MCP server of a request. */
export const virtualServerOf = ({ choice }: Principal): VirtualServer | undefined =>
  choice instanceof VirtualServer ? choice : undefined;
