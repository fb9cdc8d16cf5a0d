import { errorTypeOf } from '../observability/tracing/error-type.js';
import type { Tracer } from '../observability/tracing/tracer.js';
import type { RunCall } from '../repetition/result-cache.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';
import type { CacheableCall } from './cached-gateway.js';

/** A span around guards, recorder and tool. */
export function tracedExecution(tracer: Tracer, handle: RunCall): RunCall {
  return (call) =>
    tracer.span('execution', {}, async (span) => {
      const outcome = await handle(call);
      span.set({ 'toolkeeper.attempts': outcome.attempts });
      if (outcome.status !== 'success') span.fail(outcome.error.type);
      return outcome;
    });
}

/**
 * A span for the look at kept results. It ends where the tool is run instead, so that its length is the look's own, or
 * the wait for an equal call.
 */
export function tracedLookup(
  tracer: Tracer,
  handle: (call: CacheableCall) => Promise<ToolOutcome>,
): (call: CacheableCall) => Promise<ToolOutcome> {
  return async (call) => {
    const lookup = tracer.open('cache.lookup', {});
    const end = (hit: boolean): void => {
      lookup.set({ 'toolkeeper.cache.hit': hit });
      lookup.end();
    };
    const run: RunCall = (missed) => {
      end(false);
      return call.run(missed);
    };
    try {
      const outcome = await handle({ ...call, run });
      end(outcome.cached);
      return outcome;
    } catch (error) {
      lookup.fail(errorTypeOf(error));
      throw error;
    } finally {
      lookup.end();
    }
  };
}
