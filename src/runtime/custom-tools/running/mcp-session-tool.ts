import { LRUCache } from 'lru-cache';
import { isObject, type JsonObject } from '../../../base/common/json.js';
import { type ServerOffer, type ServerTool, serverToolName } from '../../../call/door/server-tool.js';
import type { CallContext, Caller, Slot, Tool, ToolDefinition, ToolRun } from '../../../web/contract/tool.js';
import { ToolFailure } from '../../../web/contract/tool-outcome.js';
import { Deadline } from '../../../base/common/deadline.js';
import { isLive } from '../../../web/contract/asks.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { captureOf, definitionOf } from './custom-tool-wrapper.js';
import type { ServerAccounts } from '../accounts/server-credentials.js';
import { inSlot, type PoolCalls } from './pool-calls.js';
import { asUnasked, inRounds } from '../../mcp-client/input-required.js';
import { callersMember, liveMember } from '../../mcp-client/mcp-eras.js';
import type { ToolBackend } from './tool-backend.js';

/** Limits of remembered links: projects, links per project, and characters per link. */
const maxLinks = { projects: 100, links: 1_000, chars: 2_048 };
/** MCP's error code for an unknown resource. */
const resourceNotFound = -32002;
/** Max time that the server's lists wait for a process to start. */
const wakeMs = 5_000;

/** A request to an MCP server other than a tool call. */
interface RequestToServer {
  readonly method: string;
  readonly params: JsonObject;
}

/** The server that the hidden tool belongs to: a McpServerWrapper. */
interface SessionServer extends Pick<ServerTool, 'offer'> {
  readonly accounts: ServerAccounts | undefined;
  readonly tool: CustomTool;
  readonly backend: ToolBackend;
}

/**
 * The hidden tool of an MCP server, through which resources, prompts and completions are requested, so that they are
 * recorded and limited like calls. Its input is a request, its result the server's answer.
 */
export class McpSessionTool implements ServerTool {
  readonly definition: ToolDefinition;
  readonly waitsForProcess = true;
  readonly capture: Tool['capture'];
  readonly admit?: (call: Pick<ToolRun, 'principal'>) => Promise<void>;
  /** Resources that a project may read because a result of the server linked them, by project. */
  private readonly links = new LRUCache<string, LRUCache<string, true>>({ max: maxLinks.projects });

  constructor(
    private readonly owner: SessionServer,
    private readonly calls: PoolCalls,
  ) {
    const { tool, accounts } = owner;
    if (accounts) this.admit = ({ principal }) => accounts.assertSignedIn(principal);
    this.capture = captureOf(tool);
    // Read-only and idempotent, so that failed requests are retried.
    const annotations = { ...tool.annotations, readOnly: true, idempotent: true, destructive: false };
    // Results are neither cached nor replaced by the fallback of the server's tools.
    const { cacheTtlMs: _cacheTtlMs, fallback: _fallback, ...definition } = definitionOf(tool);
    const name = serverToolName(tool.name);
    const ofSession = { name, kind: 'mcp', inputSchema: {}, annotations, semanticErrors: 'off' } as const;
    this.definition = { ...definition, ...ofSession };
  }

  get server(): string {
    return this.owner.tool.name;
  }

  offer(project: string): ServerOffer {
    return this.owner.offer(project);
  }

  validate = (): [] => [];
  redact = (value: unknown): unknown => this.calls.cleanJson(value);

  /** Whether a result of the server linked this resource for the project. */
  hasLink(project: string, uri: string): boolean {
    return this.links.get(project)?.has(uri) ?? false;
  }

  /** Remembers the links in a result of one of the server's tools, which the project may then read. */
  rememberLinks(project: string, content: readonly unknown[]): void {
    for (const block of content) {
      if (!isObject(block) || block['type'] !== 'resource_link') continue;
      const { uri } = block;
      if (typeof uri !== 'string' || uri.length > maxLinks.chars) continue;
      const known = this.links.get(project) ?? new LRUCache<string, true>({ max: maxLinks.links });
      this.links.set(project, known);
      known.set(uri, true);
    }
  }

  /** Starts a process if there is none, so that the server lists what it offers. */
  async wake(project: string): Promise<void> {
    const { backend } = this.owner;
    if ('unavailable' in backend || backend.accounts) return;
    // With processes for each owner, lists are read from one without an owner, which ends when it is idle.
    const ofProject = backend.ownerOf ? undefined : backend.separate?.of(project);
    const pool = ofProject ?? backend.pool;
    await pool.wake(Deadline.ofSmallest([wakeMs]));
  }

  takeSlot(caller: Caller): Slot {
    const slot = this.calls.takeSlot(caller, (input, run) => {
      const { method, params } = input as RequestToServer;
      const allParams = { ...params, ...callParams(run) };
      return {
        method,
        params: () => allParams,
        annotations: this.definition.annotations,
        needsFreshProcess: false,
      };
    });
    return { run: (input, run) => this.runIn(slot, input, run), release: slot.release };
  }

  run(input: unknown, run: ToolRun): Promise<unknown> {
    return inSlot(this.takeSlot(run), input, run);
  }

  /** Sends a request. If the server asks the client first, repeats it with the answers. */
  private async runIn(slot: Slot, input: unknown, run: ToolRun): Promise<unknown> {
    try {
      const result = (await slot.run(input, run)) as JsonObject;
      return await inRounds(result, run, (next) => slot.run(input, next));
    } catch (error) {
      if (!(error instanceof ToolFailure) || error.type !== 'tool_error') throw error;
      throw asUnasked(withoutToolFault(error), this.server, run);
    }
  }
}

/** Parameters about the call itself: answers of its caller, and in `_meta` its ids and the caller's capabilities. */
export const callParams = ({ executionId, context, asks }: ToolRun): { readonly _meta: object } => ({
  ...asks?.answers,
  _meta: {
    ...metaOf(executionId, context),
    ...(asks && { [callersMember]: asks.capabilities }),
    ...(asks && isLive(asks) && !asks.answers && { [liveMember]: true }),
  },
});

/** The failure of a request. An unknown resource is no fault of the server. */
function withoutToolFault(error: ToolFailure): ToolFailure {
  if (error.code !== resourceNotFound) return error;
  const { type, message, code, data, aside } = error;
  return new ToolFailure(type, message, { code, data, aside, isToolFault: false });
}

/** `_meta` of a request to an MCP server: ids of the call, and the execution's own span as the parent. */
function metaOf(executionId: string, context: CallContext): object {
  const { runId, requestId, traceparent, tracestate } = context;
  const own = { 'toolkeeper/executionId': executionId, 'toolkeeper/runId': runId ?? requestId };
  const trace = traceparent === undefined ? null : /^(\w{2}-\w{32}-)\w{16}(-\w{2})$/.exec(traceparent);
  if (!trace) return own;
  const span = executionId.replaceAll('-', '').slice(-16);
  const parent = { traceparent: `${trace[1]}${span}${trace[2]}` };
  return { ...own, ...parent, ...(tracestate !== undefined && { tracestate }) };
}
