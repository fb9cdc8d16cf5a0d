import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { JsonObject } from '../../base/common/json.js';
import type { ServerTool } from '../../call/door/server-tool.js';
import { ToolRegistry } from '../../call/door/tool-registry.js';
import { mayCall, type Principal } from '../../web/contract/principal.js';
import { virtualServerOf } from './virtual-server.js';

/** A resource, template or prompt of a server, as callers see it. */
export interface Offered {
  readonly server: ServerTool;
  /** The callers' name for it: a URI, a template or a prompt's name. */
  readonly key: string;
  /** The server's own name for it. */
  readonly ownKey: string;
  /** The item as it is listed, with `key` as its name or URI. */
  readonly item: JsonObject;
}

/** Kinds of offers. */
export type OfferList = 'resources' | 'templates' | 'prompts';
/** The offers of all servers, sorted by key. */
type Index = Readonly<Record<OfferList, readonly Offered[]>>;

/** Max characters of instructions: of one server, and of all together. */
const maxInstructions = { server: 2_000, all: 8_000 };

/** Min characters of instructions that are worth an excerpt. */
const minExcerpt = 100;

/** Resources, templates and prompts of MCP servers, by the names that callers use. */
@Injectable()
export class ServerOffers {
  /** Indexes by project, until any offer changes. */
  private readonly indexes = new LRUCache<string, Index>({ max: 100 });
  /** First starts by server and project. */
  private readonly starts = new WeakMap<ServerTool, Map<string, Promise<void>>>();

  constructor(private readonly registry: ToolRegistry) {
    registry.offers.subscribe(() => this.indexes.clear());
  }

  /** A list as a caller sees it. Starts servers that have had no process here yet. */
  async list(what: OfferList, caller: Principal, project: string): Promise<readonly Offered[]> {
    await Promise.all(this.visibleServers(caller).map((server) => this.wake(server, project)));
    return this.listKnown(what, caller, project);
  }

  /** Finds a resource: a listed one, a link that a tool gave to the project, or one that a template describes. */
  async resource(uri: string, caller: Principal, project: string): Promise<Offered | undefined> {
    const listed = (await this.list('resources', caller, project)).find(({ key }) => key === uri);
    if (listed) return listed;
    const linked = this.serversOf(caller).find(
      (server) => server.hasLink(project, uri) || server.offer(project).pages.includes(uri),
    );
    if (linked) return { server: linked, key: uri, ownKey: uri, item: {} };
    const template = this.templateFor(uri, caller, project);
    return template && { ...template, key: uri, ownKey: unprefixed(uri, template) };
  }

  /** The URI by which callers read a resource of a server. */
  shownUri(serverName: string, uri: string): string {
    const { resources } = this.index('default');
    return resources.find(({ server, ownKey }) => server.server === serverName && ownKey === uri)?.key ?? uri;
  }

  /** The servers' instructions for a model, each under the server's name; undefined if there are none. */
  instructions(caller: Principal): string | undefined {
    const ofVirtualServer = virtualServerOf(caller)?.stored.instructions;
    if (ofVirtualServer) return ofVirtualServer;
    let remaining = maxInstructions.all;
    const texts: string[] = [];
    for (const server of this.serversOf(caller)) {
      const text = server.offer('default').instructions?.trim();
      if (!text || remaining < minExcerpt) continue;
      const excerpt = text.slice(0, Math.min(maxInstructions.server, remaining));
      remaining -= excerpt.length;
      texts.push(`# ${server.server}\n${excerpt}${excerpt.length < text.length ? ' …' : ''}`);
    }
    return texts.length > 0 ? texts.join('\n\n') : undefined;
  }

  /** The template that describes a URI; if several do, the one with most literal text. */
  private templateFor(uri: string, caller: Principal, project: string): Offered | undefined {
    const literalChars = ({ key }: Offered): number => key.replace(/\{[^}]*\}/g, '').length;
    return this.listKnown('templates', caller, project)
      .filter(({ key }) => key === uri || describes(key, uri))
      .sort((a, b) => literalChars(b) - literalChars(a))[0];
  }

  /** Starts a server if it has had no process for the project yet. */
  private wake(server: ServerTool, project: string): Promise<void> {
    const projects = this.starts.get(server) ?? new Map<string, Promise<void>>();
    this.starts.set(server, projects);
    // Forgets a failed start, so that the next list tries again.
    const start = async (): Promise<void> => {
      await server.wake(project).catch(() => undefined);
      if (!server.offer(project).isKnown) projects.delete(project);
    };
    const started = projects.get(project) ?? (server.offer(project).isKnown ? Promise.resolve() : start());
    projects.set(project, started);
    return started;
  }

  /** A list as a caller sees it, without starting servers. */
  private listKnown(what: OfferList, caller: Principal, project: string): readonly Offered[] {
    const all = this.index(project)[what].filter(({ server }) => mayCall(caller, server.definition));
    const virtual = virtualServerOf(caller);
    return virtual ? sortByKey(virtual.select(what === 'prompts' ? 'prompt' : 'resource', all)) : all;
  }

  /** Servers whose links and instructions are for the caller. */
  private serversOf(caller: Principal): ServerTool[] {
    const virtual = virtualServerOf(caller);
    return this.visibleServers(caller).filter(
      (server) => virtual?.contents.servers.has(server.server) ?? true,
    );
  }

  /** Servers that the caller may use. */
  private visibleServers(caller: Principal): ServerTool[] {
    // A bound key reads resources and prompts only at the addresses of its virtual servers.
    if (caller.choice && !virtualServerOf(caller)) return [];
    return this.registry.allServers().filter(({ definition }) => mayCall(caller, definition));
  }

  private index(project: string): Index {
    const index = this.indexes.get(project) ?? this.build(project);
    this.indexes.set(project, index);
    return index;
  }

  /** Reads the offers of all servers for a project, and gives each a unique key. */
  private build(project: string): Index {
    const servers = this.registry.allServers().map((server) => ({ server, offer: server.offer(project) }));
    const all = (list: OfferList, member: string): Offered[] =>
      servers.flatMap(({ server, offer }) =>
        offer[list].flatMap((item) => {
          const ownKey = item[member];
          return typeof ownKey === 'string' ? [{ server, key: ownKey, ownKey, item }] : [];
        }),
      );
    return {
      resources: makeUnique(all('resources', 'uri'), 'uri'),
      templates: makeUnique(all('templates', 'uriTemplate'), 'uriTemplate'),
      prompts: makePromptsUnique(all('prompts', 'name'), project),
    };
  }
}

/** Adds the server's prefix to prompts, unless it has none and no other such server has the same name. */
function makePromptsUnique(offered: readonly Offered[], project: string): Offered[] {
  const unprefixedPrompts = offered.filter(({ server }) => server.offer(project).isUnprefixed);
  const unique = makeUnique(unprefixedPrompts, 'name').filter(({ key, ownKey }) => key === ownKey);
  const unchanged = new Set(unique.map(({ item }) => item));
  return sortByKey(
    offered.map((each) =>
      unchanged.has(each.item) ? each : rename(each, 'name', `${each.server.server}__${each.ownKey}`),
    ),
  );
}

/** An offer under another key. */
const rename = (offered: Offered, member: string, key: string): Offered => ({
  ...offered,
  key,
  item: { ...offered.item, [member]: key },
});

/** Sorts by key. Of equal keys the last item stays. */
const sortByKey = (offered: readonly Offered[]): Offered[] =>
  [...new Map(offered.map((each) => [each.key, each])).values()].sort((a, b) => (a.key < b.key ? -1 : 1));

/** Adds the server's name to the path of URIs that several servers have. */
function makeUnique(offered: readonly Offered[], member: string): Offered[] {
  const owners = new Map<string, Set<string>>();
  for (const { ownKey, server } of offered)
    owners.set(ownKey, (owners.get(ownKey) ?? new Set()).add(server.server));
  return sortByKey(
    offered.map((each) => {
      const isShared = (owners.get(each.ownKey)?.size ?? 0) > 1;
      return isShared ? rename(each, member, prefixed(each.ownKey, each.server.server)) : each;
    }),
  );
}

/** The part before the path of a URI; the host is such a part only in http and https URLs. */
const beforePath = /^(https?:\/\/[^/?#]*\/?|[a-z][\w+.-]*:\/{0,3})/i;

/** A URI with the server's name at the beginning of its path. */
function prefixed(uri: string, server: string): string {
  const before = beforePath.exec(uri)?.[0] ?? '';
  const slash = /^https?:\/\/[^/]*$/i.test(before) ? '/' : '';
  return `${before}${slash}${server}/${uri.slice(before.length)}`;
}

/** The server's own URI for one that a template describes. */
function unprefixed(uri: string, { key, ownKey, server }: Offered): string {
  if (key === ownKey) return uri;
  const before = beforePath.exec(uri)?.[0] ?? '';
  return before + uri.slice(before.length + server.server.length + 1);
}

/**
 * Whether a template (RFC 6570) describes a URI: it contains the literal parts in order, with a value for each expression
 * between them. Values are not checked further.
 */
export function describes(template: string, uri: string): boolean {
  const [first = '', ...parts] = template.split(/\{([^}]*)\}/);
  if (parts.length === 0 || !uri.startsWith(first)) return false;
  let at = first.length;
  for (let n = 0; n < parts.length; n += 2) {
    const [expression = '', literal = ''] = parts.slice(n, n + 2);
    const isLast = n + 2 === parts.length;
    if (isLast && !uri.endsWith(literal)) return false;
    const end = isLast ? uri.length - literal.length : uri.indexOf(literal, at);
    if (end < at) return false;
    const isOptional = /^[?&#/;.]/.test(expression) || (literal === '' && !isLast);
    const value = uri.slice(at, end);
    const isMissing = value === '' && !isOptional;
    const leavesSegment = /^\w/.test(expression) && /[/?#]/.test(value);
    if (isMissing || leavesSegment) return false;
    at = end + literal.length;
  }
  return true;
}
