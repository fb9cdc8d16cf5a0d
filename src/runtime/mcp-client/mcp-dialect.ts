import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { manifest } from '../../base/common/project.js';
import { backOff } from '../../base/common/back-off.js';
import { isDeeperThan, jsonExcerpt } from '../../base/common/json-depth.js';
import { isObject, type JsonObject } from '../../base/common/json.js';
import { readLog, readProgress, text } from '../process-pool/own-dialect.js';
import type {
  AddressedNotice,
  Dialect,
  DialectSender,
  Handshake,
  MessageHandler,
  Reply,
} from '../process-pool/pool.types.js';

/** The revisions of MCP that begin with `initialize`, the newest first. */
const mcpRevisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

/** Limits of a server's list of tools. */
export const listLimits = { tools: 512, pages: 64, bytes: 1_048_576, levels: 64 } as const;

/** Back-off for servers that announce changes of their tools again and again: reading a list takes time. */
const listPauses = { firstMs: 250, maxMs: 60_000 };
/** Time for a server to apply the roots that it asked for, such as to look them up on the disk. */
const rootsMs = 200;
const clientInfo = { name: 'toolkeeper', title: 'Toolkeeper', version: manifest().version };
const methodNotFound = -32601;

/** Requests of servers that this client refuses, with the reason. */
const refused: Readonly<Record<string, string>> = {
  'sampling/createMessage': 'Toolkeeper offers no sampling: a server gets no model of its callers',
  'elicitation/create': 'Toolkeeper offers no elicitation: nobody is there to be asked',
};

/**
 * MCP over lines, with this server as the client: `initialize`, then `tools/list`. A process that does not list its
 * tools has failed to start.
 * @param roots absolute paths, sent to servers that request them
 */
export function mcpDialect(roots: readonly string[]): Dialect {
  return {
    methods: { execute: 'tools/call', health: 'ping' },
    begin(sender, onHandshake) {
      const session = new McpSession(sender, onHandshake, roots);
      return (message) => session.handle(message);
    },
    readNotice: readMcpNotice,
    cancel: (requestId, reason) => ({ method: 'notifications/cancelled', params: { requestId, reason } }),
    asksAfterCancel: true,
  };
}

/** Session with one process of a server. */
class McpSession {
  private about: Omit<Handshake, 'tools'> = {};
  private isListing = true;
  /** Whether the server asked for its roots and may not have applied them: it refuses calls until then. */
  private appliesRoots = false;
  /** Whether the server announced a change since its tools were last listed. */
  private isStale = false;
  private pause: NodeJS.Timeout | undefined;
  /** Lists requested in a row, each directly after the pause before it. */
  private inARow = 0;

  constructor(
    private readonly sender: DialectSender,
    private readonly onHandshake: (handshake: Handshake | string) => void,
    private readonly roots: readonly string[],
  ) {
    const params = { protocolVersion: mcpRevisions[0], capabilities: { roots: {} }, clientInfo };
    sender.request('initialize', params, (reply) => this.initialized(reply));
  }

  readonly handle: MessageHandler = ({ method, id }) => {
    if (method === 'notifications/tools/list_changed') this.changed();
    if (id === undefined || typeof method !== 'string') return undefined;
    if (method === 'ping') return { result: {} };
    if (method === 'roots/list') {
      this.appliesRoots = true;
      return { result: { roots: this.roots.map(rootOf) } };
    }
    const message = refused[method] ?? `Toolkeeper serves no ${method.slice(0, 100)}`;
    return { error: { code: methodNotFound, message } };
  };

  private initialized(reply: Reply): void {
    const about = readIntroduction(reply);
    if (typeof about === 'string') return this.onHandshake(about);
    this.about = about;
    this.sender.notify('notifications/initialized', {});
    this.list();
  }

  private changed(): void {
    this.isStale = true;
    if (!this.isListing && !this.pause) this.list();
  }

  private list(): void {
    this.isListing = true;
    this.isStale = false;
    this.page({}, { tools: [], pages: 0, bytes: 0 });
  }

  private page(params: { readonly cursor?: string }, before: Listed): void {
    this.sender.request('tools/list', params, (reply, bytes) => {
      const pages = before.pages + 1;
      const page = readPage(reply);
      if (typeof page === 'string') return this.onHandshake(page);
      const listed = { tools: [...before.tools, ...page.tools], pages, bytes: before.bytes + bytes };
      const wrong = overLimit(listed);
      if (wrong !== undefined) return this.onHandshake(wrong);
      if (page.nextCursor !== undefined) return this.page({ cursor: page.nextCursor }, listed);
      if (this.appliesRoots) this.whenApplied(() => this.listed(listed.tools));
      else this.listed(listed.tools);
    });
  }

  /** The first answer shows that the server has its roots, the second one that it had time for them. */
  private whenApplied(ready: () => void): void {
    this.appliesRoots = false;
    this.sender.request('ping', {}, () => {
      setTimeout(() => this.sender.request('ping', {}, ready), rootsMs).unref();
    });
  }

  private listed(tools: readonly JsonObject[]): void {
    this.isListing = false;
    this.pause = setTimeout(
      () => {
        this.pause = undefined;
        this.inARow = this.isStale ? this.inARow + 1 : 0;
        if (this.isStale) this.list();
      },
      backOff(this.inARow + 1, listPauses),
    ).unref();
    this.onHandshake({ ...this.about, tools });
  }
}

interface Listed {
  readonly tools: readonly JsonObject[];
  readonly pages: number;
  readonly bytes: number;
}

const rootOf = (path: string): object => ({ uri: pathToFileURL(path).href, name: basename(path) || '/' });

function readIntroduction(reply: Reply): Omit<Handshake, 'tools'> | string {
  if ('error' in reply)
    return `It answered "initialize" with error ${reply.error.code}: ${reply.error.message}`;
  const { result } = reply;
  if (!isObject(result)) return 'It answered "initialize" with a result that is not an object';
  const { protocolVersion, serverInfo } = result;
  if (!mcpRevisions.some((revision) => revision === protocolVersion)) {
    const theirs = jsonExcerpt(protocolVersion ?? null, 100);
    return `It answered "initialize" with protocolVersion ${theirs}; this server speaks MCP ${mcpRevisions.join(', ')}`;
  }
  const info = isObject(serverInfo) ? serverInfo : {};
  return {
    ...text(info, 'name'),
    ...text(info, 'version'),
    ...(typeof result.instructions === 'string' && { description: result.instructions }),
    ...text(result, 'protocolVersion'),
    capabilities: { cancel: true },
  };
}

function readPage(reply: Reply): { tools: readonly JsonObject[]; nextCursor?: string } | string {
  // Some servers have tools and do not say so in their capabilities: the list decides.
  if ('error' in reply && reply.error.code === methodNotFound) return 'It is an MCP server without tools';
  if ('error' in reply)
    return `It answered "tools/list" with error ${reply.error.code}: ${reply.error.message}`;
  const { tools: listed, nextCursor } = isObject(reply.result) ? reply.result : {};
  if (!Array.isArray(listed)) return 'It answered "tools/list" without a list of tools';
  const tools = listed.map(readableTool);
  // Some servers write '', 0 or false behind the last page.
  if (!nextCursor) return { tools };
  return typeof nextCursor === 'string'
    ? { tools, nextCursor }
    : `It answered "tools/list" with the nextCursor ${jsonExcerpt(nextCursor, 100)}, which is no text`;
}

/** A tool without what is nested too deep to be read; anything else by a name that says what it is. */
function readableTool(item: unknown): JsonObject {
  if (!isObject(item)) return { name: `(${jsonExcerpt(item ?? null, 100)})` };
  const members = Object.entries(item).map(([name, value]) => [
    name,
    isDeeperThan(value, listLimits.levels - 1) ? `nested deeper than ${listLimits.levels} levels` : value,
  ]);
  return Object.fromEntries(members) as JsonObject;
}

function overLimit({ tools, pages, bytes }: Listed): string | undefined {
  if (tools.length > listLimits.tools) return `It lists more than ${listLimits.tools} tools`;
  if (bytes > listLimits.bytes) return `Its list of tools is over ${listLimits.bytes} bytes`;
  return pages > listLimits.pages ? `Its list of tools has more than ${listLimits.pages} pages` : undefined;
}

/** Reads a notice. The progress token of a call is its execution id. */
function readMcpNotice(method: unknown, params: unknown): AddressedNotice | 'unknown' | 'malformed' {
  if (method !== 'notifications/progress' && method !== 'notifications/message') return 'unknown';
  if (!isObject(params)) return 'malformed';
  if (method === 'notifications/progress') {
    const notice = readProgress(params);
    const { progressToken } = params;
    return notice && typeof progressToken === 'string' ? { notice, executionId: progressToken } : 'malformed';
  }
  const { level, logger, data } = params;
  const from = typeof logger === 'string' ? `${logger}: ` : '';
  // The message holds an excerpt of data that is not text; `data` holds all of it.
  const shown = typeof data === 'string' ? data : jsonExcerpt(data ?? null, 200);
  const notice = readLog({ level, message: `${from}${shown}`, ...(typeof data !== 'string' && { data }) });
  return notice ? { notice } : 'malformed';
}
