import { isDeepStrictEqual } from 'node:util';
import type { Tracer } from '../../../base/observability/tracing/tracer.js';
import { isObject, type JsonObject } from '../../../base/common/json.js';
import { jsonExcerpt } from '../../../base/common/json-depth.js';
import { errorTable, Refusal } from '../../../base/common/errors.js';
import type {
  Caller,
  Slot,
  Tool,
  ToolDefinition,
  ToolRun,
  Unavailability,
} from '../../../web/contract/tool.js';
import { ToolFailure } from '../../../web/contract/tool-outcome.js';
import { mcpResult } from '../../../call/platforms/mcp-results.js';
import type { InputValidator } from '../../../base/schemas/input-validator.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import type { CheckedTool, McpValidators } from '../launch/tool-inspector.js';
import {
  type McpDefinition,
  type McpListing,
  type McpReview,
  calledName,
  instructionsName,
  promptName,
  reviewTools,
  unlistedOutput,
} from '../../mcp-client/mcp-review.js';
import { asUnasked, inRounds, isInputRequired } from '../../mcp-client/input-required.js';
import { isInputError, isRefused } from '../../mcp-client/failed-results.js';
import { captureOf, CustomToolWrapper, type RunningRevision } from './custom-tool-wrapper.js';
import { inSlot, type PoolCalls } from './pool-calls.js';
import type { ProcessPool } from '../../process-pool/process-pool.js';
import type { ToolBackend } from './tool-backend.js';
import { pageOfTool, type ServerOffer } from '../../../call/door/server-tool.js';
import { withOwnIcons } from '../../mcp-client/mcp-lists.js';
import type { ServerAccounts } from '../accounts/server-credentials.js';
import { doubtsClosedWorld, mcpDefinitionOf } from './mcp-definitions.js';
import { McpSessionTool, callParams } from './mcp-session-tool.js';

/** Validator of the server itself, which is not called. */
const noInput = Object.assign(() => [], { schema: {}, warnings: [] });

/** An MCP server. Its approved tools are called, never the server itself. */
export class McpServerWrapper extends CustomToolWrapper {
  /** Its hidden tool, for requests other than tool calls. */
  readonly session: McpSessionTool;
  private readonly tools: readonly McpTool[];
  /** Its tools, prompts and instructions by name: whether they may be used. */
  private reviews: ReadonlyMap<string, McpReview> = new Map();

  constructor(
    tool: CustomTool,
    private readonly validators: McpValidators,
    backend: ToolBackend,
    running: RunningRevision,
    tracer: Tracer,
    /** Called with each tool whose definition has changed. */
    private readonly onToolChanged: (tool: Tool) => void,
  ) {
    super(tool, noInput, backend, running, tracer);
    const definitions = new Map((tool.definitions ?? []).map((each) => [each.name, each]));
    this.session = new McpSessionTool(this, this.calls);
    this.tools = [...validators].flatMap(([name, checked]) => {
      const approved = definitions.get(name);
      if (!approved || 'wrong' in checked) return [];
      return [new McpTool(this, approved, checked, this.calls)];
    });
    this.refresh();
  }

  /** Tools that its processes list; undefined if it has no processes. */
  get listing(): McpListing | undefined {
    return 'listing' in this.backend ? this.backend.listing : undefined;
  }

  /** Reviews its tools again, after its list has changed. */
  refresh(): void {
    const reviews = reviewTools(this.tool.definitions ?? [], this.listing?.tools);
    this.reviews = new Map(reviews.map((review) => [review.name, this.withFaults(review)]));
    const listed = new Map(this.listing?.tools?.map((each) => [each['name'], each]));
    for (const tool of this.tools)
      if (tool.copyDecoration(listed.get(tool.approved.name))) this.onToolChanged(tool);
  }

  /** Its resources, prompts and instructions for a project, as far as they are approved. */
  offer(project: string): ServerOffer {
    // The lists of one account are not shown to others.
    const handshake = this.accounts ? {} : this.listing?.of(this.poolOf(project));
    const { resources = [], resourceTemplates = [], prompts = [], offers = {} } = handshake ?? {};
    const decorated = (each: JsonObject): JsonObject => withOwnIcons(each, this.tool.url);
    const instructions = this.reviews.get(instructionsName);
    return {
      isKnown: handshake !== undefined || 'unavailable' in this.backend,
      resources: resources.map(decorated),
      templates: resourceTemplates.map(decorated),
      prompts: prompts
        .filter(({ name }) => this.whyNot(promptName(String(name))) === undefined)
        .map(decorated),
      isUnprefixed: this.tool.prefix === '',
      // The approved text, because clients read it before any process has started.
      instructions: instructions?.state === 'callable' ? instructions.approved?.description : undefined,
      completes: isObject(offers['completions']),
      pages: this.tools.flatMap(({ definition }) => pageOfTool(definition.meta) ?? []),
    };
  }

  /** Accounts of its callers. */
  get accounts(): ServerAccounts | undefined {
    return 'accounts' in this.backend ? this.backend.accounts : undefined;
  }

  /** Reviews of all tools that were approved or are listed. */
  allReviews(): readonly McpReview[] {
    return [...this.reviews.values()];
  }

  /** Includes held tools, so that their calls get the reason, but not tools that are gone. */
  override offered(): readonly Tool[] {
    return this.tools.filter(({ approved }) => this.reviews.get(approved.name)?.state !== 'gone');
  }

  /** The number of its tools by state. */
  counts(): Readonly<Record<'callable' | 'held' | 'refused', number>> {
    const count = (wanted: string): number =>
      this.allReviews().filter(({ state }) => state === wanted).length;
    return { callable: count('callable'), held: count('held'), refused: count('refused') };
  }

  override warnings(): readonly string[] {
    return this.allReviews().flatMap(({ name, state, why, warning }) => {
      const called = calledName(this.tool.name, name);
      if (state !== 'callable') return [`${called} is not callable (${state}): ${why}`];
      return warning === undefined ? [] : [`${called}: ${warning}`];
    });
  }

  /** Whether its sandbox keeps it from all networks. */
  get hasNoNetwork(): boolean {
    const { backend } = this;
    return 'confined' in backend && backend.confined.effective.enforced.includes('allowNetwork');
  }

  /** Warns about a tool that answered without the structured content that its output schema promises. */
  warnOfUnstructured(tool: McpTool): void {
    tool.checked.warning = unstructured;
    this.refresh();
    this.onToolChanged(tool);
  }

  /** Why a tool or a prompt (`promptName`) is not callable; undefined if it is. */
  whyNot(name: string): string | undefined {
    const review = this.reviews.get(name);
    return review?.state === 'callable' ? undefined : (review?.why ?? 'the server does not list it');
  }

  /** The pool whose process lists what a project may use; undefined if there is none. */
  private poolOf(project: string): ProcessPool | undefined {
    const { backend } = this;
    if ('unavailable' in backend) return undefined;
    return backend.separate && !backend.ownerOf ? backend.separate.at(project) : backend.pool;
  }

  /** A review that also reports faults of the tool's schemas and doubts about its claims. */
  private withFaults(review: McpReview): McpReview {
    const checked = review.approved && this.validators.get(review.name);
    if (checked && 'wrong' in checked) return { ...review, state: 'refused', why: checked.wrong };
    const definition = review.listed ?? review.approved;
    const isDoubted = definition && !this.hasNoNetwork && doubtsClosedWorld(definition, this.tool);
    const warning = [review.warning, checked?.warning, isDoubted && doubtedClaim].filter(Boolean).join('; ');
    return warning === '' ? review : { ...review, warning };
  }
}

/** Warning about a tool that claims to act on no outside systems. */
const doubtedClaim =
  'it declares openWorldHint: false, but its server has a network: it counts as openWorld, ' +
  'unless the registration of the server sets annotations.openWorld: false';
/** Warning about a tool that does not keep to its output schema. */
const unstructured = `${unlistedOutput}: it answered without structured content, which clients treat as a failed call`;

/** Member of a tool's `_meta` that says how its calls may run as tasks. */
const taskSupportMember = 'toolkeeper/taskSupport';

/** If a tool succeeded within this time, its refusal counts as an answer, not as its fault. */
const provenForMs = 300_000;
/** Retry hint for a held tool, which an operator must approve first. */
const heldRetryMs = 60_000;

/** A tool of an MCP server. It runs on the server's processes, as long as its definition is the approved one. */
class McpTool implements Tool {
  /** As approved, with the listed icons and `_meta`. */
  definition: ToolDefinition;
  readonly waitsForProcess = true;
  readonly capture: Tool['capture'];
  readonly revision: string;
  readonly admit?: (call: Pick<ToolRun, 'principal'>) => Promise<void>;
  /** Time of the last successful call, by performance.now(). */
  private succeededAt = -Infinity;

  constructor(
    private readonly server: McpServerWrapper,
    readonly approved: McpDefinition,
    readonly checked: CheckedTool,
    private readonly calls: PoolCalls,
  ) {
    const { outputSchema, validate } = checked;
    const { tool, accounts } = server;
    if (accounts) this.admit = ({ principal }) => accounts.assertSignedIn(principal);
    this.capture = captureOf(tool);
    // Approved definitions are part of the server's revision.
    this.revision = server.revision;
    const definition = mcpDefinitionOf(tool, approved, server.hasNoNetwork);
    const { schema: inputSchema } = validate;
    this.definition = { ...definition, inputSchema, ...(outputSchema && { outputSchema }) };
  }

  /** Copies the listed icons and `_meta`, which models do not read and nobody reviews. @returns whether they changed */
  copyDecoration(listed: JsonObject | undefined): boolean {
    const { icons, _meta, execution } = withOwnIcons(listed ?? {}, this.server.tool.url);
    const { taskSupport } = isObject(execution) ? execution : {};
    // MCP has no member for task support since 2026-07-28, so `_meta` passes it on.
    const meta =
      taskSupport === undefined ? _meta : { ...(_meta as object), [taskSupportMember]: taskSupport };
    const { icons: iconsBefore, meta: metaBefore, ...definition } = this.definition;
    if (!listed || isDeepStrictEqual([icons, meta], [iconsBefore, metaBefore])) return false;
    this.definition = {
      ...definition,
      ...(icons !== undefined && { icons: icons as object[] }),
      ...(isObject(meta) && { meta }),
    };
    return true;
  }

  redact(value: unknown): unknown {
    return this.calls.cleanJson(value);
  }

  validate(...input: Parameters<InputValidator>): ReturnType<InputValidator> {
    return this.checked.validate(...input);
  }

  unavailable(): Unavailability | undefined {
    const why = this.server.whyNot(this.approved.name);
    return why === undefined ? this.calls.unavailable() : { state: 'held', why };
  }

  /** Whether calls may or must run as tasks of MCP. */
  taskSupport(): 'optional' | 'required' | undefined {
    const { [taskSupportMember]: taskSupport }: JsonObject = { ...this.definition.meta };
    return taskSupport === 'optional' || taskSupport === 'required' ? taskSupport : undefined;
  }

  takeSlot(caller: Caller): Slot {
    const why = this.server.whyNot(this.approved.name);
    if (why !== undefined)
      throw new Refusal('tool_unavailable', this.heldBack(why), { retryAfterMs: heldRetryMs });
    // Never a fresh process: it would lack the server's memory.
    const slot = this.calls.takeSlot(caller, (input, run) => ({
      params: () => this.params(input, run),
      annotations: this.definition.annotations,
      needsFreshProcess: false,
    }));
    return { run: (input, run) => this.runIn(slot, input, run), release: slot.release };
  }

  /** Runs a call in a slot that is taken for it. */
  run(input: unknown, run: ToolRun): Promise<unknown> {
    return inSlot(this.takeSlot(run), input, run);
  }

  /** Runs a call. If the server asks the client first, repeats it with the answers. */
  private async runIn(slot: Slot, input: unknown, run: ToolRun): Promise<unknown> {
    try {
      const result = await slot.run(input, run);
      if (!isInputRequired(result)) return this.resultOf(result, run);
      return this.resultOf(await inRounds(result, run, (next) => slot.run(input, next)), run);
    } catch (thrown) {
      const error = (await this.server.accounts?.errorForCaller(thrown, run.principal)) ?? thrown;
      throw error instanceof ToolFailure && error.type === 'tool_error'
        ? asUnasked(error, this.definition.name, run)
        : error;
    }
  }

  /** The result of a call. @throws ToolFailure if the tool reports that it failed */
  private resultOf(result: unknown, { context }: ToolRun): unknown {
    const now = performance.now();
    if (!isFailed(result)) {
      this.succeededAt = now;
      const content = isObject(result) ? result['content'] : undefined;
      if (Array.isArray(content)) this.server.session.rememberLinks(context.projectId, content);
      this.checkStructured(result);
      return result;
    }
    const text = textIn(result);
    const isRefusal = now - this.succeededAt <= provenForMs && isRefused(text);
    throw new ToolFailure('tool_error', this.calls.cleanWithHint(text), {
      data: this.calls.cleanJson(result),
      ...(isInputError(text) && { code: errorTable.invalid_input.jsonRpc }),
      ...(isRefusal && { isToolFault: false }),
    });
  }

  /** Removes the output schema from the definition if the tool does not keep to it. */
  private checkStructured(result: unknown): void {
    const { outputSchema, ...others } = this.definition;
    const isStructured = isObject(result) && result['structuredContent'] !== undefined;
    if (!outputSchema || isStructured) return;
    this.definition = others;
    this.server.warnOfUnstructured(this);
  }

  /** Parameters of the call. @throws ToolFailure if the process that is to run it lists another definition */
  private params(input: unknown, run: ToolRun): object {
    const why = this.server.whyNot(this.approved.name);
    if (why !== undefined) throw new ToolFailure('upstream_unavailable', this.heldBack(why));
    const extra = callParams(run);
    const _meta = { ...extra._meta, ...(run.onProgress && { progressToken: run.executionId }) };
    return { name: this.approved.name, arguments: input, ...extra, _meta };
  }

  /** The message of a refused call. */
  private heldBack(why: string): string {
    return `${this.definition.name} is held back: ${why}`;
  }
}

const isFailed = (result: unknown): result is JsonObject => isObject(result) && result['isError'] === true;

/** The text of a failed result, for its error message. */
function textIn({ content, structuredContent }: JsonObject): string {
  const blocks = mcpResult({ content }, true)?.content ?? [];
  const text = blocks.flatMap((block) => (block.type === 'text' ? [block['text']] : [])).join('\n');
  if (text !== '') return text;
  return isObject(structuredContent)
    ? jsonExcerpt(structuredContent, 2_000)
    : 'The tool failed and did not say why';
}
