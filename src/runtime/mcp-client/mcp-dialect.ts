import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { backOff } from '../../base/common/back-off.js';
import { jsonExcerpt } from '../../base/common/json-depth.js';
import { isObject, type JsonObject } from '../../base/common/json.js';
import { listChanges, readLists, type SendRequest } from './mcp-lists.js';
import { readLog, readProgress } from '../process-pool/own-dialect.js';
import type {
  AddressedNotice,
  Dialect,
  DialectSender,
  DialectSession,
  Handshake,
  Reply,
  ServerLists,
} from '../process-pool/pool.types.js';
import {
  clientCapabilities,
  clientInfo,
  discoverMs,
  enveloped,
  type Era,
  introductionIn,
  type Introduction,
  legacyRevisions,
  liveMember,
  type McpPeer,
  modernRevision,
  namedRevisions,
  newPeer,
  removeEnvelope,
  readDiscovery,
  readIntroduction,
  unsupportedRevision,
} from './mcp-eras.js';
import { repeatedMembers } from './request-headers.js';
import { WatchedResources } from './watched-resources.js';
import { TaskPolls, taskTtlMs } from './task-polls.js';

/** Back-off for servers that announce changes of their tools continually, because reading a list takes time. */
const listPauses = { firstMs: 250, maxMs: 60_000 };
/** Time for a server to apply its roots, such as to look them up on the disk. */
const rootsMs = 200;
const methodNotFound = -32601;
const internalError = -32603;
/** Errors of servers that do not know `initialize`, in JSON-RPC and in the modern era. */
const unknownRequest: readonly number[] = [-32600, methodNotFound, -32602, -32020, unsupportedRevision];

/** Requests of servers that this client refuses, with the reason. */
const refusals: Readonly<Record<string, string>> = {
  'sampling/createMessage': 'Toolkeeper offers no sampling: a server cannot use the model of its callers',
  'elicitation/create':
    'The caller of this call cannot be asked: it declared no elicitation of this mode, or several calls run at once',
};

/**
 * MCP over lines, with this server as the client: `initialize` or `server/discover`, then `tools/list`. A process that
 * does not list its tools has failed to start.
 * @param roots absolute paths, sent to servers that request them
 */
export function mcpDialect(roots: readonly string[], peer = newPeer('legacy')): Dialect {
  return {
    methods: { execute: 'tools/call', health: 'ping' },
    begin: (sender, onHandshake) => new McpSession(sender, onHandshake, roots, peer),
    readNotice: readMcpNotice,
    updatedIn: ({ method, params }) => {
      const uri = method === 'notifications/resources/updated' && isObject(params) && params['uri'];
      return typeof uri === 'string' ? uri : undefined;
    },
    cancel: (requestId, reason) => ({ method: 'notifications/cancelled', params: { requestId, reason } }),
    asksAfterCancel: true,
    relayedMethod: 'elicitation/create',
  };
}

/** The session with one process of a server. */
class McpSession implements DialectSession {
  private era: Era | undefined;
  /** Whether the server has acknowledged the subscription to its lists. */
  private isSubscribed = false;
  /** Subscriptions to lists and resources, in the modern era. */
  private readonly watched: WatchedResources;
  /** Names of tools that run only as tasks, in the legacy era. */
  private readonly taskOnlyTools = new Set<unknown>();
  /** Ids of requests that call these tools. */
  private readonly taskRequests = new Set<string>();
  private readonly polls: TaskPolls;
  /** The server's answer to `initialize` or `server/discover`. */
  private introduction: Introduction = {};
  /** Whether the server's lists are being read; also during the handshake, which ends with them. */
  private isListing = true;
  /** Whether the server asked for its roots and may not have applied them yet; until then it refuses calls. */
  private appliesRoots = false;
  /** Whether the server announced a change since its tools were last listed. */
  private isStale = false;
  /** Timer of the pause after a list; absent if there is none. */
  private pause: NodeJS.Timeout | undefined;
  /** Number of lists requested in a row, each directly after the pause before it. */
  private consecutiveLists = 0;

  constructor(
    private readonly sender: DialectSender,
    private readonly onHandshake: (handshake: Handshake | string) => void,
    private readonly roots: readonly string[],
    private readonly peer: McpPeer,
  ) {
    this.polls = new TaskPolls(
      (...request) => this.request(...request),
      (...settled) => sender.settle(...settled),
    );
    this.watched = new WatchedResources(sender);
    if (peer.era === 'modern') this.discover();
    else this.initialize();
  }

  /** Answers requests of the server, and follows its notifications. */
  handle({ method, id, params }: JsonObject): Reply | undefined {
    if (listChanges.has(method)) this.onListChanged();
    if (method === 'notifications/subscriptions/acknowledged' && !this.watched.acknowledge(params)) {
      // Changes between two subscriptions are not announced.
      if (this.isSubscribed) this.onListChanged();
      this.isSubscribed = true;
    }
    if (id === undefined || typeof method !== 'string') return undefined;
    if (method === 'ping') return { result: {} };
    if (method === 'roots/list') {
      this.appliesRoots = true;
      return { result: { roots: this.roots.map(rootOf) } };
    }
    const message = refusals[method] ?? `Toolkeeper serves no ${method.slice(0, 100)}`;
    return { error: { code: methodNotFound, message } };
  }

  /** Rewrites a request for the era of the session: into an envelope, a subscription or a task. @returns undefined: unchanged */
  outgoing(id: string, method: string, params: object): { method: string; params: object } | undefined {
    if (this.era === 'modern') {
      if (method === 'resources/subscribe') return this.watched.add(id, params);
      const { _meta } = params as { readonly _meta?: object };
      // A call that asks while it runs belongs to the legacy era: see legacy-twin.ts.
      if (this.peer.speaksBoth && _meta && liveMember in _meta) return undefined;
      const update = this.polls.updateFor(id, params as JsonObject);
      if (update) return { ...update, params: enveloped(update.params) };
      return { method: method === 'ping' ? 'server/discover' : method, params: enveloped(params) };
    }
    if (!('name' in params) || !this.taskOnlyTools.has(params.name)) return undefined;
    this.taskRequests.add(id);
    return { method, params: { ...params, task: { ttl: taskTtlMs } } };
  }

  /** Takes the answer to a request. @returns false for one that stands for a task, which is polled from then on */
  isFinal(id: string, reply: Reply): boolean {
    const wasTask = this.taskRequests.delete(id);
    this.watched.forget(id);
    if (this.polls.resume(id, reply)) return false;
    if (!('result' in reply) || !isObject(reply.result)) return true;
    const { resultType, task } = reply.result;
    if (resultType === 'task' || wasTask) return !this.polls.follow(id, wasTask ? task : reply.result);
    if (this.era === 'modern') removeEnvelope(reply.result);
    return true;
  }

  /** Ends everything that belongs to an abandoned request. */
  forgotten(id: string): void {
    this.taskRequests.delete(id);
    this.watched.forget(id);
    this.polls.cancel(id);
  }

  /** Begins the handshake of the legacy era. @param isRefused whether the server has refused `server/discover` */
  private initialize(isRefused = false): void {
    const params = { protocolVersion: legacyRevisions[0], capabilities: clientCapabilities, clientInfo };
    this.sender.request('initialize', params, (reply) => {
      const introduction = readIntroduction(reply);
      if (typeof introduction !== 'string') {
        this.sender.notify('notifications/initialized', {});
        return this.onIntroduction('legacy', introduction);
      }
      const isUnknown = 'error' in reply && unknownRequest.includes(reply.error.code);
      if (isUnknown && !isRefused) this.discover(introduction);
      else this.onHandshake(introduction);
    });
  }

  /**
   * Begins the handshake of the modern era.
   * @param refusal why the server refused `initialize`
   * @param tries 2 after the server refused the revision although it names it as supported
   */
  private discover(refusal?: string, tries = 1): void {
    // An old server may not answer a request that it does not know.
    const timer = refusal === undefined ? undefined : setTimeout(() => this.onHandshake(refusal), discoverMs);
    const onReply = (reply: Reply): void => {
      clearTimeout(timer);
      const discovery = readDiscovery(reply);
      if (discovery) this.onIntroduction('modern', introductionIn(discovery), discovery);
      else if (tries === 1 && namedRevisions(reply).includes(modernRevision)) this.discover(refusal, 2);
      else if (refusal === undefined) this.initialize(!isUnclearRefusal(reply));
      else this.onHandshake(refusal);
    };
    this.sender.request('server/discover', enveloped({}), onReply, refusal);
  }

  /** Notes the era of the session and reads the server's lists. */
  private onIntroduction(era: Era, introduction: Introduction, { capabilities }: JsonObject = {}): void {
    this.era = era;
    this.peer.era = era;
    this.introduction = introduction;
    const announced = ['tools', 'resources', 'prompts'].flatMap((list) => {
      const capability = isObject(capabilities) ? capabilities[list] : undefined;
      return isObject(capability) && capability['listChanged'] === true ? [[`${list}ListChanged`, true]] : [];
    });
    // In the legacy era changes are announced without a subscription.
    if (era === 'modern') this.watched.begin(Object.fromEntries(announced) as object);
    this.requestLists();
  }

  /** Sends a request in the era of the session. */
  private request(...[method, params, onReply]: Parameters<DialectSender['request']>): void {
    this.sender.request(method, this.era === 'modern' ? enveloped(params) : params, onReply);
  }

  /** Reads the lists again, at once or after the pause. */
  private onListChanged(): void {
    this.isStale = true;
    if (!this.isListing && !this.pause) this.requestLists();
  }

  private requestLists(): void {
    this.isListing = true;
    this.isStale = false;
    const request: SendRequest = (...parts) => this.request(...parts);
    readLists(request, this.introduction.offers ?? {}, (received) => {
      if (typeof received === 'string') return this.onHandshake(received);
      const lists = { ...received, tools: received.tools.map((tool) => this.prepareTool(tool)) };
      if (this.appliesRoots) this.afterRootsApplied(() => this.publish(lists));
      else this.publish(lists);
    });
  }

  /**
   * Notes whether calls of a tool must be tasks (legacy era), or repeat members in headers (modern era).
   * @returns the tool; its schema is replaced by the reason if clients must not use it
   */
  private prepareTool(tool: JsonObject): JsonObject {
    const { name, inputSchema, execution } = tool;
    if (this.era !== 'modern') {
      if (isObject(execution) && execution['taskSupport'] === 'required') this.taskOnlyTools.add(name);
      return tool;
    }
    const members = repeatedMembers(inputSchema);
    if (typeof members === 'string') return { ...tool, inputSchema: members };
    this.peer.repeated.set(String(name), members);
    return tool;
  }

  /** Calls back when the server has applied its roots: its first answer shows that it has them, the second came after that. */
  private afterRootsApplied(onApplied: () => void): void {
    this.appliesRoots = false;
    this.sender.request('ping', {}, () => {
      setTimeout(() => this.sender.request('ping', {}, onApplied), rootsMs).unref();
    });
  }

  /** Passes the lists on, and starts the pause before the next list. */
  private publish(lists: ServerLists): void {
    this.isListing = false;
    const onPauseOver = (): void => {
      this.pause = undefined;
      this.consecutiveLists = this.isStale ? this.consecutiveLists + 1 : 0;
      if (this.isStale) this.requestLists();
    };
    this.pause = setTimeout(onPauseOver, backOff(this.consecutiveLists + 1, listPauses)).unref();
    this.onHandshake({ ...this.introduction, ...lists });
  }
}

/** Whether a server refused a request by an error that leaves open whether it knows the request. */
const isUnclearRefusal = (reply: Reply): boolean => 'error' in reply && reply.error.code === internalError;

const rootOf = (path: string): object => ({ uri: pathToFileURL(path).href, name: basename(path) || '/' });

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
