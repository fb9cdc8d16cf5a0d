import { LRUCache } from 'lru-cache';
import { canonicalJson, sha256 } from '../common/canonical-json.js';
import { type Clock, systemClock } from '../common/clock.js';
import { Deadline } from '../common/deadline.js';
import { newId } from '../common/ids.js';
import type { Tool, ToolDefinition } from '../tool-contract/tool.js';
import type { ToolCall } from '../tool-contract/tool-call.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';
import { Flight } from './flight.js';
import { leftOutcome, lateOutcome } from './unshared-outcome.js';

/** How a call was answered without an execution of its own. */
export type CacheAnswer = 'kept' | 'shared';

export type RunCall = (call: ToolCall) => Promise<ToolOutcome>;

/** Results of such a tool may answer other calls. */
export const isCacheable = ({ cacheTtlMs = 0, annotations }: ToolDefinition): boolean =>
  cacheTtlMs > 0 && annotations.readOnly;

/**
 * Results of tools that only read, by tool and parameters: one that is fresh answers at once, and equal calls that come
 * while one runs wait for its result instead of running, too. Only successes are kept or shared.
 */
export class ResultCache {
  private readonly kept: LRUCache<string, ToolOutcome>;
  private readonly flights = new Map<string, Flight>();
  /** A tool that was changed is another object: nothing of the earlier one answers for it. */
  private readonly generations = new WeakMap<Tool, string>();

  constructor(
    maxBytes: number,
    private readonly onAnswer: (outcome: ToolOutcome, answer: CacheAnswer, call: ToolCall) => void,
    private readonly clock: Clock = systemClock,
  ) {
    this.kept = new LRUCache({
      maxSize: maxBytes,
      ttl: 1,
      ttlResolution: 0,
      perf: { now: () => clock.now() },
    });
  }

  /** Bytes of the results that are kept, as JSON. */
  get bytes(): number {
    return this.kept.calculatedSize;
  }

  /** @throws what `run` throws */
  async answer(call: ToolCall, run: RunCall): Promise<ToolOutcome> {
    const key = this.keyOf(call);
    const kept = this.kept.get(key);
    if (kept) return this.given(call, kept, 'kept');
    const underWay = this.flights.get(key);
    if (underWay) return this.follow(key, underWay, call, run);
    const flight = new Flight();
    this.flights.set(key, flight);
    return this.lead(key, flight, call, run);
  }

  /** Waits for the call that runs. What one call met is no answer to another: it had less time, or was refused. */
  private async follow(key: string, flight: Flight, call: ToolCall, run: RunCall): Promise<ToolOutcome> {
    const { definition } = call.ticket.tool;
    const deadline = Deadline.ofSmallest([call.timeoutMs, definition.timeoutMs], this.clock);
    const end = await flight.wait(deadline, call.signal);
    switch (end.kind) {
      case 'landed':
        return this.given(call, end.outcome, 'shared');
      case 'turn':
        return this.lead(key, flight, { ...call, timeoutMs: Math.max(1, deadline.remainingMs()) }, run);
      case 'late':
        return lateOutcome(flight.executionId, definition, deadline.totalMs);
      case 'left':
        return leftOutcome(flight.executionId, definition);
    }
  }

  private async lead(key: string, flight: Flight, call: ToolCall, run: RunCall): Promise<ToolOutcome> {
    let success: ToolOutcome | undefined;
    try {
      const { executionId } = call.ticket;
      const outcome = await flight.lead(executionId, call.signal, (signal) => run({ ...call, signal }));
      if (outcome.status === 'success') success = outcome;
      return this.keep(key, call, outcome);
    } finally {
      if (success || !flight.handOver()) this.flights.delete(key);
      if (success) flight.land(success);
    }
  }

  private keep(key: string, { ticket }: ToolCall, outcome: ToolOutcome): ToolOutcome {
    const { outputBytes, freshForMs = Infinity } = ticket.notes;
    const ttl = Math.min(ticket.tool.definition.cacheTtlMs ?? 0, freshForMs);
    // For the cache, no time to live is for ever.
    if (outcome.status === 'success' && ttl > 0) {
      const size = outputBytes ?? Buffer.byteLength(JSON.stringify(outcome.result) ?? '');
      this.kept.set(key, outcome, { ttl, size: size + entryBytes });
    }
    return outcome;
  }

  private given(call: ToolCall, outcome: ToolOutcome, answer: CacheAnswer): ToolOutcome {
    this.onAnswer(outcome, answer, call);
    call.ticket.tool.onReuse?.(outcome.result, call.context);
    return { ...outcome, cached: true };
  }

  /** Labels and project choose what some tools find; who asks, and in which run, must not. */
  private keyOf({ ticket: { tool }, input, context: { labels, projectId } }: ToolCall): string {
    let generation = this.generations.get(tool);
    if (generation === undefined) this.generations.set(tool, (generation = newId()));
    const asked = tool.cacheKey ? tool.cacheKey(input) : input;
    return `${generation} ${sha256(canonicalJson([asked, labels ?? {}, projectId]))}`;
  }
}

/** What an entry costs beside its result. */
const entryBytes = 512;
