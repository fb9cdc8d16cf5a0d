import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { manifest } from '../../base/common/project.js';
import { backOff } from '../../base/common/back-off.js';
import { jsonExcerpt } from '../../base/common/json-depth.js';
import { isObject } from '../../base/common/json.js';
import { type Ask, listChanges, readLists } from './mcp-lists.js';
import { readLog, readProgress, text } from '../process-pool/own-dialect.js';
import type {
  AddressedNotice,
  Dialect,
  DialectSender,
  Handshake,
  MessageHandler,
  Reply,
  ServerLists,
} from '../process-pool/pool.types.js';

/** The revisions of MCP that begin with `initialize`, the newest first. */
const mcpRevisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

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
    updatedIn: ({ method, params }) => {
      const uri = method === 'notifications/resources/updated' && isObject(params) && params['uri'];
      return typeof uri === 'string' ? uri : undefined;
    },
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
    if (listChanges.has(method)) this.changed();
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
    const ask: Ask = (...request) => this.sender.request(...request);
    readLists(ask, this.about.offers ?? {}, (listed) => {
      if (typeof listed === 'string') return this.onHandshake(listed);
      if (this.appliesRoots) this.whenApplied(() => this.listed(listed));
      else this.listed(listed);
    });
  }

  /** The first answer shows that the server has its roots, the second one that it had time for them. */
  private whenApplied(ready: () => void): void {
    this.appliesRoots = false;
    this.sender.request('ping', {}, () => {
      setTimeout(() => this.sender.request('ping', {}, ready), rootsMs).unref();
    });
  }

  private listed(listed: ServerLists): void {
    this.isListing = false;
    this.pause = setTimeout(
      () => {
        this.pause = undefined;
        this.inARow = this.isStale ? this.inARow + 1 : 0;
        if (this.isStale) this.list();
      },
      backOff(this.inARow + 1, listPauses),
    ).unref();
    this.onHandshake({ ...this.about, ...listed });
  }
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
    ...(isObject(result.capabilities) && { offers: result.capabilities }),
    ...text(result, 'protocolVersion'),
    capabilities: { cancel: true },
  };
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
