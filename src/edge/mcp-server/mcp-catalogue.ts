import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { isObject, type JsonObject } from '../../base/common/json.js';
import { errorTable } from '../../base/common/errors.js';
import { callOf, listerOf, projectIn } from '../../call/door/incoming-call.js';
import { ToolsService } from '../../call/door/tools.service.js';
import { isOfObject, toolFormats } from '../../call/platforms/tool-formats.js';
import { principalOf, projectFor } from '../../web/auth/principal.decorator.js';
import type { Asks } from '../../web/contract/asks.js';
import type { Principal } from '../../web/contract/principal.js';
import type { ToolOutcome } from '../../web/contract/tool-outcome.js';
import { type Page, pageOf } from '../../web/rest/page.js';
import { errorOf, invalidParams } from './mcp-messages.js';
import { roundsOf } from './mcp-asks.js';
import { McpSkills } from './mcp-skills.js';
import {
  type McpAnswer,
  type Incoming,
  cursorIn,
  answerWith,
  uncached,
  itemsOnPage,
  metaPrefix,
  type Methods,
  ownMembers,
  type Params,
  withStatus,
  sessionHeader,
  textIn,
} from './mcp-methods.js';
import { isShown, type Lister } from '../../web/contract/tool.js';
import { type VirtualServer, virtualServerOf } from './virtual-server.js';
import { type Offered, type OfferList, ServerOffers } from './server-offers.js';

/** The code for an unknown resource before 2026-07-28; since then it is that of invalid parameters. */
const resourceNotFound = -32002;
const meansUnknown = (code: unknown): boolean => code === resourceNotFound || code === invalidParams;

/** Max sessions with watched resources; the least recently used are dropped. */
const maxSessions = 1_000;
/** Max watched resources of a session. */
export const maxWatched = 100;
/** URIs of resources. */
type Watched = LRUCache<string, true>;

const byKey = (a: { key: string }, b: { key: string }): number => (a.key < b.key ? -1 : 1);

/** Kinds of executions, by the first part of the method. */
const kinds = { resources: 'resource', prompts: 'prompt', completion: 'completion' } as const;
/** Parts of a request that are passed on to the server besides the parameters: its `_meta`, and how its client can be asked. */
interface PassedOn {
  readonly meta?: Params | undefined;
  readonly asks?: Asks | undefined;
}
/** Clients of the legacy era cannot be asked: that needs a stream, which these methods do not open. */
const passedOn = ({ message: { params = {} }, isModern }: Incoming): PassedOn => ({
  meta: params._meta,
  asks: isModern ? roundsOf(params) : undefined,
});

/** The name of a method that uses an offer of a server, such as `prompts/get`. */
type OfferMethod = `${keyof typeof kinds}/${string}`;

/** Handles the methods that list tools, resources and prompts, and those that use resources and prompts. */
@Injectable()
export class McpCatalogue {
  readonly methods: Methods = {
    'tools/list': { handle: async (incoming) => answerWith(incoming, await this.listTools(incoming)) },
    'resources/list': this.listing('resources', 'resources'),
    'resources/templates/list': this.listing('templates', 'resourceTemplates'),
    'resources/read': { handle: (incoming) => this.readResource(incoming) },
    'resources/subscribe': { only: 'legacy', handle: (incoming) => this.subscribe(incoming) },
    'resources/unsubscribe': { only: 'legacy', handle: (incoming) => this.unsubscribe(incoming) },
    'prompts/list': this.listing('prompts', 'prompts'),
    'prompts/get': { handle: (incoming) => this.getPrompt(incoming) },
    'completion/complete': { handle: (incoming) => this.complete(incoming) },
  };

  /** Watched resources by key and session. */
  private readonly watched = new LRUCache<string, Watched>({ max: maxSessions });

  constructor(
    private readonly tools: ToolsService,
    private readonly offers: ServerOffers,
    private readonly skills: McpSkills,
  ) {}

  /** Reads a resource; undefined if the caller has none with this URI. @throws Refusal if the read was not sent */
  async read(uri: string, request: FastifyRequest, passed?: PassedOn): Promise<ToolOutcome | undefined> {
    const found = await this.offers.resource(uri, ...callerOf(request));
    if (!found) return undefined;
    const input = { method: 'resources/read', params: { uri: found.ownKey } } as const;
    const outcome = await this.requestFrom(found, input, request, passed);
    if (outcome.status !== 'success') return meansUnknown(outcome.error.code) ? undefined : outcome;
    const { contents, ...others } = isObject(outcome.result) ? outcome.result : {};
    if (!Array.isArray(contents) || contents.length === 0) return undefined;
    const renamed = contents.map((each: unknown) =>
      isObject(each) && each['uri'] === found.ownKey ? { ...each, uri } : each,
    );
    return { ...outcome, result: { ...others, contents: renamed } };
  }

  /**
   * Subscribes to a resource's updates at its server, as long as the process that took the request runs.
   * @returns whether the server accepted
   */
  async watch(uri: string, request: FastifyRequest): Promise<boolean> {
    const found = await this.offers.resource(uri, ...callerOf(request));
    if (!found) return false;
    const input = { method: 'resources/subscribe', params: { uri: found.ownKey } } as const;
    return (await this.requestFrom(found, input, request)).status === 'success';
  }

  /** The resources that the client of this session watches, at most `maxWatched`. They are kept if it has a session. */
  watchedBy({ headers, principal }: FastifyRequest): Watched {
    const session = headers[sessionHeader];
    const key = `${principal?.keyId} ${String(session)}`;
    const known = this.watched.get(key) ?? new LRUCache({ max: maxWatched });
    if (session !== undefined) this.watched.set(key, known);
    return known;
  }

  /** Gets a prompt; undefined if the caller has none with this name. @throws Refusal if the request was not sent */
  async prompt(
    name: string,
    promptArguments: unknown,
    request: FastifyRequest,
    passed?: PassedOn,
  ): Promise<ToolOutcome | undefined> {
    const offered = await this.offers.list('prompts', ...callerOf(request));
    const found = offered.find(({ key }) => key === name);
    if (!found) return undefined;
    const given = promptArguments !== undefined && { arguments: promptArguments };
    const params = { name: found.ownKey, ...given };
    return this.requestFrom(found, { method: 'prompts/get', params }, request, passed);
  }

  /**
   * A page of a list.
   * @param skills items of this server itself, which have no server's name
   * @throws Problem `invalid_request` for an invalid cursor
   */
  async page(
    what: OfferList,
    { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number },
    request: FastifyRequest,
    skills: readonly { readonly key: string; readonly item: JsonObject }[] = [],
  ): Promise<Page<{ readonly server: string; readonly item: JsonObject }>> {
    const offered = await this.offers.list(what, ...callerOf(request));
    const rows = [
      ...offered.map(({ key, item, server }) => ({ key, item, server: server.server })),
      ...skills.map((each) => ({ ...each, server: '' })),
    ].sort(byKey);
    const { data, nextCursor } = pageOf(rows, ({ key }) => key, limit, cursor);
    return { data: data.map(({ server, item }) => ({ server, item })), nextCursor };
  }

  /** Sends a request to a server through the door. */
  private async requestFrom(
    { server }: Offered,
    input: { readonly method: OfferMethod; readonly params: JsonObject },
    request: FastifyRequest,
    { meta = {}, asks }: PassedOn = {},
  ): Promise<ToolOutcome> {
    // These requests only read: a key in `_meta` has no use, and is no member of the context.
    const { idempotencyKey: _none, ...context } = ownMembers(meta);
    const call = { tool: server.definition.name, input, context, trace: meta };
    const kind = kinds[input.method.split('/')[0] as keyof typeof kinds];
    return (await this.tools.call({ ...callOf(call, request), kind, asks })).outcome;
  }

  /** A page of the tools that the caller may call. @throws Problem `invalid_request` for an invalid cursor */
  private async listTools({ isModern, request, message }: Incoming): Promise<object> {
    const { _meta } = message.params ?? {};
    const uiSession = _meta?.[`${metaPrefix}uiSession`];
    const wanted = { format: 'mcp', limit: itemsOnPage, cursor: cursorIn(message) } as const;
    const lister = listerOf(request, uiSession);
    const server = virtualServerOf(lister.principal);
    const { data, nextCursor } = server
      ? this.toolsOf(server, lister, wanted.cursor)
      : await this.tools.list(wanted, lister);
    const tools = isModern ? data : data.map(forOldClient);
    return withCacheHints({ tools, ...(nextCursor !== null && { nextCursor }) }, isModern);
  }

  /** A page of a virtual server's tools. */
  private toolsOf({ contents }: VirtualServer, lister: Lister, cursor?: string): Page<object> {
    const shown = [...contents.tools].flatMap(([name, { originalName, description }]) => {
      const tool = this.tools.find(originalName, lister.principal);
      if (!tool || !isShown(tool, lister)) return [];
      return [{ ...tool.definition, name, ...(description !== undefined && { description }) }];
    });
    shown.sort((a, b) => (a.name < b.name ? -1 : 1));
    const { data, nextCursor } = pageOf(shown, ({ name }) => name, itemsOnPage, cursor);
    return { data: data.map((each) => toolFormats.mcp(each)), nextCursor };
  }

  /** The method that lists offers. @param member of the result that has the items */
  private listing(what: OfferList, member: string): Methods[string] {
    return {
      handle: async (incoming) => {
        const wanted = { cursor: cursorIn(incoming.message), limit: itemsOnPage };
        const skills = what === 'resources' ? await this.skills.resources(incoming.request) : [];
        const { data, nextCursor } = await this.page(what, wanted, incoming.request, skills);
        const items = data.map(({ item }) => item);
        const page = { [member]: items, ...(nextCursor !== null && { nextCursor }) };
        return answerWith(incoming, withCacheHints(page, incoming.isModern));
      },
    };
  }

  private async readResource(incoming: Incoming): Promise<McpAnswer> {
    const { message, request, isModern } = incoming;
    const uri = textIn(message.params, 'uri');
    const skill = await this.skills.read(uri, request);
    if (skill) return answerWith(incoming, withCacheHints(skill, isModern));
    const outcome = await this.read(uri, request, passedOn(incoming));
    const code = isModern ? invalidParams : resourceNotFound;
    return outcome
      ? answerOfOutcome(incoming, outcome)
      : errorOf(message.id, code, `There is no resource ${uri}`, { uri });
  }

  /** Forwards updates of a resource to the client's stream from now on. */
  private async subscribe(incoming: Incoming): Promise<McpAnswer> {
    const { message, request } = incoming;
    const uri = textIn(message.params, 'uri');
    const refusal = `There is no resource ${uri} whose server reports updates`;
    if (!(await this.watch(uri, request))) return errorOf(message.id, resourceNotFound, refusal);
    this.watchedBy(request).set(uri, true);
    return answerWith(incoming, {});
  }

  /** Stops forwarding updates. The server's subscription stays, because other clients may need it. */
  private unsubscribe(incoming: Incoming): McpAnswer {
    this.watchedBy(incoming.request).delete(textIn(incoming.message.params, 'uri'));
    return answerWith(incoming, {});
  }

  private async getPrompt(incoming: Incoming): Promise<McpAnswer> {
    const { params } = incoming.message;
    const name = textIn(params, 'name');
    const outcome = await this.prompt(name, params?.['arguments'], incoming.request, passedOn(incoming));
    return outcome ? answerOfOutcome(incoming, outcome) : unknownItem(incoming, `prompt ${name}`);
  }

  /** Completes an argument of a prompt or of a template. */
  private async complete(incoming: Incoming): Promise<McpAnswer> {
    const { message, request } = incoming;
    const { ref: given, argument, context, _meta } = message.params ?? {};
    const { type, name, uri } = isObject(given) ? given : {};
    const [list, member, key] =
      type === 'ref/prompt' ? (['prompts', 'name', name] as const) : (['templates', 'uri', uri] as const);
    const [caller, project] = callerOf(request);
    const found = (await this.offers.list(list, caller, project)).find((each) => each.key === key);
    if (!found) return unknownItem(incoming, `${String(type)} ${String(key)}`);
    if (!found.server.offer(project).completes) return answerWith(incoming, { completion: { values: [] } });
    const ref = { type, [member]: found.ownKey };
    const params = { ref, argument, ...(context !== undefined && { context }) };
    const input = { method: 'completion/complete', params } as const;
    return answerOfOutcome(incoming, await this.requestFrom(found, input, request, { meta: _meta }));
  }
}

/** The answer to a request that a server has answered. */
function answerOfOutcome(incoming: Incoming, outcome: ToolOutcome): McpAnswer {
  const { id } = incoming.message;
  if (outcome.status !== 'success') {
    const { type, code, message, data } = outcome.error;
    const error = errorOf(id, code, message, data);
    return incoming.isModern && type === 'capability_missing'
      ? withStatus(incoming.reply, 400, error)
      : error;
  }
  const { result } = outcome;
  if (isObject(result)) return answerWith(incoming, withCacheHints(result, incoming.isModern));
  return errorOf(id, errorTable.protocol_error.jsonRpc, 'The server answered with no object');
}

/** A tool without an output schema that clients before 2026-07-28 cannot read. */
function forOldClient(tool: object): object {
  const { outputSchema, ...others } = tool as JsonObject;
  return isObject(outputSchema) && !isOfObject(outputSchema) ? others : tool;
}

/** The error for a prompt or template that the caller does not have. */
const unknownItem = ({ message: { id } }: Incoming, what: string): McpAnswer =>
  errorOf(id, invalidParams, `There is no ${what}`);

/**
 * A result with the cache hints of 2026-07-28; for older clients without any. Keeps the server's `ttlMs`, but limits the
 * scope to one caller, because another key may see less.
 */
function withCacheHints(result: object, isModern: boolean): object {
  const { ttlMs, cacheScope: _scope, ...others } = result as JsonObject;
  if (!isModern) return others;
  const isGiven = typeof ttlMs === 'number' && ttlMs >= 0;
  return { ...uncached(others), ...(isGiven && { ttlMs }) };
}

/** The caller and its project. @throws Problem `forbidden` for a project outside its key */
function callerOf(request: FastifyRequest): [Principal, string] {
  const principal = principalOf(request);
  return [principal, projectFor(principal, projectIn(request, principal))];
}
