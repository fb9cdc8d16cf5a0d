import type { Tracer } from '../../observability/tracing/tracer.js';
import { Refusal } from '../../common/errors.js';
import type { CallContext } from '../../tool-contract/call-context.js';
import type {
  Capture,
  Release,
  Tool,
  ToolAnnotations,
  ToolDefinition,
  ToolRun,
} from '../../tool-contract/tool.js';
import { ToolFailure } from '../../tool-contract/tool-outcome.js';
import type { InputValidator } from '../../tools/input-validator.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import type { CheckedTool, McpValidators } from '../launch/tool-inspector.js';
import type { McpDefinition } from '../mcp/mcp-definition.js';
import type { McpListing } from '../mcp/mcp-listing.js';
import { type McpReview, reviewTools } from '../mcp/mcp-review.js';
import { mcpToolName } from '../mcp/mcp-names.js';
import { captureOf, CustomToolWrapper, definitionOf, type RunningRevision } from './custom-tool-wrapper.js';
import type { PoolCalls } from './pool-calls.js';
import type { ToolBackend } from './tool-backend.js';

/** An MCP server: not called itself, but each of its tools that was approved. */
export class McpServerWrapper extends CustomToolWrapper {
  private readonly tools: readonly McpTool[];
  private reviews: ReadonlyMap<string, McpReview> = new Map();

  constructor(
    tool: CustomTool,
    private readonly validators: McpValidators,
    backend: ToolBackend,
    running: RunningRevision,
    tracer: Tracer,
  ) {
    super(tool, () => [], backend, running, tracer);
    const definitions = new Map((tool.definitions ?? []).map((each) => [each.name, each]));
    this.tools = [...validators].flatMap(([name, checked]) => {
      const approved = definitions.get(name);
      if (!approved || 'wrong' in checked) return [];
      return [new McpTool(tool, approved, checked, this.calls, () => this.whyNot(name))];
    });
    this.refresh();
  }

  /** What its processes list; undefined where it has none. */
  get listing(): McpListing | undefined {
    return 'listing' in this.backend ? this.backend.listing : undefined;
  }

  /** What it lists has changed. */
  refresh(): void {
    const reviews = reviewTools(this.tool.definitions ?? [], this.listing?.tools);
    this.reviews = new Map(reviews.map((review) => [review.name, this.withSchema(review)]));
  }

  /** Of all tools that were approved or are listed. */
  review(): readonly McpReview[] {
    return [...this.reviews.values()];
  }

  /** A tool that is held back is found, so that a call of it is told why; one that is gone is not. */
  override offered(): readonly Tool[] {
    return this.tools.filter(({ approved }) => this.reviews.get(approved.name)?.state !== 'gone');
  }

  private withSchema(review: McpReview): McpReview {
    const checked = review.approved && this.validators.get(review.name);
    if (checked && 'wrong' in checked) return { ...review, state: 'refused', why: checked.wrong };
    return checked?.warning === undefined ? review : { ...review, warning: checked.warning };
  }

  private whyNot(name: string): string | undefined {
    const review = this.reviews.get(name);
    return review?.state === 'callable' ? undefined : (review?.why ?? 'the server does not list it');
  }
}

/** Somebody has to look at it first. */
const heldBackMs = 60_000;

/** A tool of an MCP server. It runs on the server's processes, as what was approved and as nothing else. */
class McpTool implements Tool {
  readonly definition: ToolDefinition;
  readonly capture: Capture | undefined;

  constructor(
    server: CustomTool,
    readonly approved: McpDefinition,
    private readonly checked: CheckedTool,
    private readonly calls: PoolCalls,
    private readonly whyNot: () => string | undefined,
  ) {
    const { description, title, inputSchema } = approved;
    const { outputSchema } = checked;
    this.capture = captureOf(server, calls);
    this.definition = {
      ...definitionOf(server),
      name: mcpToolName(server.name, approved.name),
      description: description ?? title ?? '',
      kind: 'mcp',
      inputSchema: { ...inputSchema, type: 'object' },
      ...(outputSchema && { outputSchema }),
      annotations: annotationsOf(approved, server.annotations),
    };
  }

  validate(...[input, bytes]: Parameters<InputValidator>): ReturnType<InputValidator> {
    return this.checked.validate(input, bytes);
  }

  takeSlot({ projectId }: CallContext): Release {
    const why = this.whyNot();
    if (why !== undefined)
      throw new Refusal('tool_unavailable', this.heldBack(why), { retryAfterMs: heldBackMs });
    return this.calls.takeSlot(projectId);
  }

  async run(input: unknown, run: ToolRun): Promise<unknown> {
    const { annotations } = this.definition;
    // A process of its own would have nothing of what the server remembers.
    const result = await this.calls.run(
      { params: () => this.params(input, run), annotations, fresh: false },
      run,
    );
    if (!isFailed(result)) return result;
    // The words of a tool that works: they say nothing about whether the next call will.
    throw new ToolFailure('tool_error', this.calls.explained(textIn(result)), {
      data: this.calls.cleanJson(result),
      toolFault: false,
    });
  }

  /** @throws ToolFailure when the process that is to run it turned out to list something else */
  private params(input: unknown, { executionId, context, onProgress }: ToolRun): object {
    const why = this.whyNot();
    if (why !== undefined) throw new ToolFailure('upstream_unavailable', this.heldBack(why));
    const _meta = {
      'toolkeeper/executionId': executionId,
      'toolkeeper/runId': context.runId ?? context.requestId,
      ...(onProgress && { progressToken: executionId }),
    };
    return { name: this.approved.name, arguments: input, _meta };
  }

  private heldBack(why: string): string {
    return `${this.definition.name} is held back: ${why}`;
  }
}

interface FailedResult {
  readonly isError: true;
  readonly content?: unknown;
}

const isFailed = (result: unknown): result is FailedResult =>
  typeof result === 'object' && result !== null && 'isError' in result && result.isError === true;

function textIn({ content }: FailedResult): string {
  const blocks = Array.isArray(content) ? (content as unknown[]) : [];
  const texts = blocks.flatMap((block) => {
    const { type, text } = (block ?? {}) as { type?: unknown; text?: unknown };
    return type === 'text' && typeof text === 'string' ? [text] : [];
  });
  return texts.join('\n') || 'The tool failed and did not say why';
}

function annotationsOf({ annotations = {} }: McpDefinition, server: ToolAnnotations): ToolAnnotations {
  return {
    readOnly: annotations.readOnlyHint ?? server.readOnly,
    idempotent: annotations.idempotentHint ?? server.idempotent,
    destructive: annotations.destructiveHint ?? server.destructive,
    openWorld: annotations.openWorldHint ?? server.openWorld,
  };
}
