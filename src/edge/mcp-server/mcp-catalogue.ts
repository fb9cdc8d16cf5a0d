import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { isObject, type JsonObject } from '../../base/common/json.js';
import { errorTable, Problem } from '../../base/common/errors.js';
import { callOf, listerOf } from '../../call/door/incoming-call.js';
import { pageOfTool } from '../../call/door/server-tool.js';
import { ToolsService } from '../../call/door/tools.service.js';
import { isOfObject } from '../../call/platforms/tool-formats.js';
import { serverOf } from '../../runtime/mcp-client/mcp-review.js';
import { principalOf } from '../../web/auth/principal.decorator.js';
import type { ExecutionKind } from '../../web/contract/tool-call.js';
import type { ToolOutcome } from '../../web/contract/tool-outcome.js';
import { type Page, pageOf } from '../../web/rest/page.js';
import { errorOf, invalidParams, type RpcId } from './mcp-messages.js';
import {
  type Answered,
  type Asked,
  done,
  fresh,
  type Method,
  metaPrefix,
  type Methods,
  ownMembers,
  type Params,
} from './mcp-methods.js';
import { type Offered, type OfferList, ServerOffers } from './server-offers.js';

/** Some clients read the first page only. */
const itemsOnPage = 500;
/** The code before 2026-07-28 for a resource that there is not. */
const resourceNotFound = -32002;

/** A request to a server for something that it offers. */
interface Wanted {
  readonly kind: ExecutionKind;
  readonly method: string;
  readonly params: JsonObject;
}

/** What a server answered about something that it offers. */
export interface ServerAnswer {
  readonly found: Offered;
  readonly outcome: ToolOutcome;
}

/** The lists of what there is, and what MCP servers offer beside their tools. */
@Injectable()
export class McpCatalogue {
  readonly methods: Methods = {
    'tools/list': { handle: async (asked) => done(asked, await this.listTools(asked)) },
    'resources/list': this.listing('resources', 'resources'),
    'resources/templates/list': this.listing('templates', 'resourceTemplates'),
    'resources/read': { handle: (asked) => this.readResource(asked) },
    'prompts/list': this.listing('prompts', 'prompts'),
    'prompts/get': { handle: (asked) => this.getPrompt(asked) },
    'completion/complete': { handle: (asked) => this.complete(asked) },
  };

  constructor(
    private readonly tools: ToolsService,
    private readonly offers: ServerOffers,
  ) {}

  /** What the servers tell a model about themselves. */
  about(request: FastifyRequest): { instructions?: string } {
    const instructions = this.offers.instructions(principalOf(request));
    return instructions === undefined ? {} : { instructions };
  }

  /** @returns undefined if the caller has no such resource. @throws Refusal for a read that was not sent */
  async read(uri: string, request: FastifyRequest, meta?: Params): Promise<ServerAnswer | undefined> {
    const { context } = callOf({ tool: '', input: {} }, request);
    const found = await this.offers.resource(uri, principalOf(request), context.projectId);
    if (!found) return undefined;
    const wanted = { kind: 'resource', method: 'resources/read', params: { uri: found.own } } as const;
    const { outcome } = await this.ask(found, wanted, request, meta);
    const result = outcome.status === 'success' ? outcome.result : undefined;
    const contents = isObject(result) ? result['contents'] : undefined;
    if (outcome.status !== 'success')
      return outcome.error.code === resourceNotFound ? undefined : { found, outcome };
    if (!isObject(result) || !Array.isArray(contents) || contents.length === 0) return undefined;
    const named = contents.map((each) =>
      isObject(each) && each['uri'] === found.own ? { ...each, uri } : each,
    );
    return { found, outcome: { ...outcome, result: { ...result, contents: named } } };
  }

  /** @returns undefined if the caller has no such prompt. @throws Refusal for a request that was not sent */
  async prompt(
    name: string,
    given: unknown,
    request: FastifyRequest,
    meta?: Params,
  ): Promise<ServerAnswer | undefined> {
    const found = (await this.offers.list('prompts', principalOf(request))).find(({ key }) => key === name);
    const params = { name: found?.own, ...(given !== undefined && { arguments: given }) };
    return found && this.ask(found, { kind: 'prompt', method: 'prompts/get', params }, request, meta);
  }

  /** Sends a request to a server through the door. */
  private async ask(
    found: Offered,
    { kind, method, params }: Wanted,
    request: FastifyRequest,
    meta: Params = {},
  ): Promise<ServerAnswer> {
    const { idempotencyKey: _none, ...context } = ownMembers(meta);
    const call = callOf(
      { tool: found.server.definition.name, input: { method, params }, context, trace: meta },
      request,
    );
    return { found, outcome: (await this.tools.call({ ...call, kind })).outcome };
  }

  /** @throws Problem `invalid_request` for an invalid cursor */
  private async listTools({ isModern, request, message }: Asked): Promise<object> {
    const { _meta } = message.params ?? {};
    const uiSession = _meta?.[`${metaPrefix}uiSession`];
    const wanted = { format: 'mcp', limit: itemsOnPage, cursor: cursorIn(message) } as const;
    const { data, nextCursor } = await this.tools.list(wanted, listerOf(request, uiSession));
    const tools = data.map((tool) => this.forClient(tool, isModern));
    return cached({ tools, ...(nextCursor !== null && { nextCursor }) }, isModern);
  }

  /** A tool without an output schema that the client does not know, and with the page that we serve. */
  private forClient(tool: object, isModern: boolean): object {
    const { name, outputSchema, _meta, ...others } = tool as JsonObject;
    const page = pageOfTool(_meta);
    if (page === undefined && (isModern || !isObject(outputSchema) || isOfObject(outputSchema))) return tool;
    const shown = page && this.offers.shownUri(serverOf(String(name)) ?? '', page);
    const { ui } = isObject(_meta) ? _meta : {};
    const meta =
      shown === page ? _meta : { ...(_meta as object), ui: { ...(ui as object), resourceUri: shown } };
    const isKept = isObject(outputSchema) && (isModern || isOfObject(outputSchema));
    return { name, ...others, ...(isKept && { outputSchema }), ...(meta !== undefined && { _meta: meta }) };
  }

  /** A page of a list. @throws Problem `invalid_request` for an invalid cursor */
  async page(
    what: OfferList,
    { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number },
    request: FastifyRequest,
  ): Promise<Page<{ readonly server: string; readonly item: JsonObject }>> {
    const offered = await this.offers.list(what, principalOf(request));
    const { data, nextCursor } = pageOf(offered, ({ key }) => key, limit, cursor);
    return { data: data.map(({ server, item }) => ({ server: server.server, item })), nextCursor };
  }

  private listing(what: OfferList, member: string): Method {
    return {
      handle: async (asked) => {
        const wanted = { cursor: cursorIn(asked.message), limit: itemsOnPage };
        const { data, nextCursor } = await this.page(what, wanted, asked.request);
        const items = data.map(({ item }) => item);
        const page = { [member]: items, ...(nextCursor !== null && { nextCursor }) };
        return done(asked, cached(page, asked.isModern));
      },
    };
  }

  private async readResource(asked: Asked): Promise<Answered> {
    const { message, request, isModern } = asked;
    const uri = textIn(message.params, 'uri');
    const answer = await this.read(uri, request, message.params?._meta);
    if (answer) return answered(asked, answer);
    const code = isModern ? invalidParams : resourceNotFound;
    return errorOf(message.id, code, `There is no resource ${uri}`, { uri });
  }

  private async getPrompt(asked: Asked): Promise<Answered> {
    const { message, request } = asked;
    const name = textIn(message.params, 'name');
    const answer = await this.prompt(name, message.params?.['arguments'], request, message.params?._meta);
    return answer ? answered(asked, answer) : unknown(message.id, `prompt ${name}`);
  }

  private async complete(asked: Asked): Promise<Answered> {
    const { message, request } = asked;
    const { ref, argument, context, _meta } = message.params ?? {};
    const { type, name, uri } = isObject(ref) ? ref : {};
    const isPrompt = type === 'ref/prompt';
    const key = isPrompt ? name : uri;
    const caller = principalOf(request);
    const offered = await this.offers.list(isPrompt ? 'prompts' : 'templates', caller);
    const found = offered.find((each) => each.key === key);
    if (!found) return unknown(message.id, `${isPrompt ? 'prompt' : 'resource template'} ${String(key)}`);
    if (!found.server.offer().completes)
      return done(asked, { completion: { values: [], total: 0, hasMore: false } });
    const own = { type, [isPrompt ? 'name' : 'uri']: found.own };
    const params = { ref: own, argument, ...(context !== undefined && { context }) };
    const wanted = { kind: 'completion', method: 'completion/complete', params } as const;
    return answered(asked, await this.ask(found, wanted, request, _meta));
  }
}

function answered(asked: Asked, { outcome, found }: ServerAnswer): Answered {
  const { id } = asked.message;
  if (outcome.status !== 'success') {
    const { code, message, data } = outcome.error;
    return errorOf(id, code, message, data);
  }
  const { result } = outcome;
  if (isObject(result)) return done(asked, cached(result, asked.isModern));
  return errorOf(id, errorTable.protocol_error.jsonRpc, `${found.server.server} answered with no object`);
}

const unknown = (id: RpcId, what: string): Answered => errorOf(id, invalidParams, `There is no ${what}`);

/**
 * A result with what clients from 2026-07-28 on need to know of keeping it: as long as its server says, else not at all,
 * and for one caller alone, because another key may see less.
 */
function cached(result: object, isModern: boolean): object {
  const { ttlMs, cacheScope: _scope, ...others } = result as JsonObject;
  if (!isModern) return others;
  const isGiven = typeof ttlMs === 'number' && ttlMs >= 0;
  return { ...fresh(others), ...(isGiven && { ttlMs }) };
}

/** @throws Problem `invalid_request` */
function textIn(params: Params | undefined, member: string): string {
  const value = params?.[member];
  if (typeof value === 'string') return value;
  throw new Problem('invalid_request', `${member} must be a string`);
}

/** @throws Problem `invalid_request` */
function cursorIn({ params }: Asked['message']): string | undefined {
  return params?.['cursor'] === undefined ? undefined : textIn(params, 'cursor');
}
