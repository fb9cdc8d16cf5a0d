import { LRUCache } from 'lru-cache';
import type { Cancellation } from '../../base/common/cancellation.js';
import { canonicalJson, sha256 } from '../../base/common/canonical-json.js';
import { type Clock, systemClock } from '../../base/common/clock.js';
import type { Deadline } from '../../base/common/deadline.js';
import { newId } from '../../base/common/ids.js';
import type { Tracer } from '../../base/observability/tracing/tracer.js';
import type { CachedAnswer } from '../../web/contract/call-ticket.js';
import { fallbackOf, type Tool } from '../../web/contract/tool.js';
import type { ToolCall } from '../../web/contract/tool-call.js';
import { failedOutcome, type ToolOutcome } from '../../web/contract/tool-outcome.js';

/** Runs a call behind its guards. */
type Enter = (call: ToolCall) => Promise<ToolOutcome>;

/** One of several equal calls, which run one after another. */
interface Turn {
  /** Resolves when the call is over, with its success, or with undefined: then the next one runs. */
  readonly ended: Promise<ToolOutcome | undefined>;
  /** Id of the execution, or of the one for which the call waits. */
  executionId: string;
}

/** Bytes of an entry in addition to its result. */
const entryBytes = 512;

/**
 * Results of read-only tools, by tool and parameters. A cached result answers at once. Equal calls wait for a running one, and
 * the first success answers all of them. A failure answers only its own call, because another one may have more time or
 * rights, so the next call runs then. Each call is woken once.
 */
export class ResultCache {
  private readonly results: LRUCache<string, ToolOutcome>;
  /** The last turn of each key. */
  private readonly turns = new Map<string, Turn>();
  /** Ids of tool objects. A changed tool is another object, so that old results do not answer for it. */
  private readonly generations = new WeakMap<Tool, string>();

  constructor(
    maxBytes: number,
    private readonly tracer: Tracer,
    private readonly clock: Clock = systemClock,
  ) {
    this.results = new LRUCache({
      maxSize: maxBytes,
      // Each entry has its own; lru-cache needs a default.
      ttl: 1,
      ttlResolution: 0,
      perf: { now: () => clock.now() },
    });
  }

  /** Bytes of the cached results, as JSON. */
  get bytes(): number {
    return this.results.calculatedSize;
  }

  /**
   * Sends the call through its guards by `enter`, with a cached answer on its ticket if there is one.
   * @throws what `enter` throws
   */
  async answer(call: ToolCall, enter: Enter): Promise<ToolOutcome> {
    const key = this.keyOf(call);
    const lookup = this.tracer.open('cache.lookup', {});
    const reuse = (outcome: ToolOutcome, how: CachedAnswer['how']): Promise<ToolOutcome> => {
      lookup.set({ 'toolkeeper.cache.hit': true });
      lookup.end();
      call.ticket.cachedAnswer = { outcome, how };
      return enter(call);
    };
    const cached = this.results.get(key);
    if (cached) return reuse(cached, 'kept');

    const { cancellation, ticket } = call;
    const before = this.turns.get(key);
    const { turn, endTurn } = this.takeTurn(key, ticket.executionId, before);
    /** For the calls that wait for this one. */
    let success: ToolOutcome | Turn['ended'] | undefined;
    try {
      const earlier = before && (await waitForEnd(before.ended, ticket.deadline, cancellation));
      if (earlier === 'late' || earlier === 'left') {
        // The next call waits for the earlier one instead.
        success = before?.ended;
        lookup.fail(earlier);
        return outcomeOfLeaver(call, turn.executionId, earlier);
      }
      if (earlier) {
        success = earlier;
        return await reuse(earlier, 'shared');
      }
      turn.executionId = ticket.executionId;
      lookup.set({ 'toolkeeper.cache.hit': false });
      lookup.end();
      const outcome = await enter(call);
      // A person's answers belong to this caller only.
      const isShared =
        outcome.status === 'success' && ticket.notes.askedMs === undefined && !call.asks?.round;
      if (isShared) {
        success = outcome;
        this.store(key, call, outcome);
      }
      return outcome;
    } finally {
      lookup.end();
      endTurn(success);
    }
  }

  /** Takes the turn after `before`. @returns the turn, and how to end it: with a success, or with undefined for none */
  private takeTurn(key: string, executionId: string, before: Turn | undefined) {
    const { promise: ended, resolve: endTurn } = Promise.withResolvers<ToolOutcome | undefined>();
    const turn: Turn = { ended, executionId: before?.executionId ?? executionId };
    this.turns.set(key, turn);
    void ended.then(() => {
      if (this.turns.get(key) === turn) this.turns.delete(key);
    });
    return { turn, endTurn };
  }

  private store(key: string, { ticket }: ToolCall, outcome: ToolOutcome): void {
    const { outputBytes, ttlMs = Infinity } = ticket.notes;
    const ttl = Math.min(ticket.tool.definition.cacheTtlMs ?? 0, ttlMs);
    // lru-cache treats ttl 0 as "no expiry".
    if (ttl <= 0) return;
    const size = outputBytes ?? Buffer.byteLength(JSON.stringify(outcome.result) ?? '');
    this.results.set(key, outcome, { ttl, size: size + entryBytes });
  }

  /** The cache key. Labels and project may affect a result; caller and run must not. */
  private keyOf({ ticket: { tool }, input, context: { labels, projectId } }: ToolCall): string {
    let generation = this.generations.get(tool);
    if (generation === undefined) {
      generation = newId();
      this.generations.set(tool, generation);
    }
    const parameters = tool.cacheKey ? tool.cacheKey(input) : input;
    return `${generation} ${sha256(canonicalJson([parameters, labels ?? {}, projectId]))}`;
  }
}

/** Waits for an earlier call. @returns its end; `late` if the deadline passes first, `left` if the caller disconnects first */
function waitForEnd<T>(
  ended: Promise<T>,
  deadline: Deadline,
  cancellation: Cancellation | undefined,
): Promise<T | 'late' | 'left'> {
  return new Promise((resolve) => {
    const finish = (end: T | 'late' | 'left'): void => {
      clearTimeout(timer);
      cancellation?.unsubscribe(onLeft);
      resolve(end);
    };
    const onLeft = (): void => finish('left');
    const timer = setTimeout(finish, deadline.remainingMs(), 'late');
    cancellation?.subscribe(onLeft);
    void ended.then(finish);
    if (cancellation?.isCancelled) onLeft();
  });
}

/** The outcome for a caller whose deadline has passed or who has disconnected. The execution itself continues. */
function outcomeOfLeaver({ ticket }: ToolCall, executionId: string, end: 'late' | 'left'): ToolOutcome {
  const { tool } = ticket;
  const waitedMs = ticket.deadline.totalMs;
  const type = end === 'late' ? 'timeout' : 'cancelled';
  const message =
    end === 'late' ? `No answer within ${waitedMs} ms` : 'The caller left before the tool ended';
  const base = { executionId, tool: tool.definition.name, executionTimeMs: end === 'late' ? waitedMs : 0 };
  return failedOutcome(base, { type, message }, fallbackOf(tool, message));
}
