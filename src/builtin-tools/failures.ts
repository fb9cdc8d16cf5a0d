import { bulkhead, BulkheadRejectedError } from 'cockatiel';
import { errorTable } from '../common/errors.js';
import { ToolFailure } from '../tool-contract/tool-outcome.js';

/** The caller asked for what cannot be had; another input may do better. No fault of the tool. */
export const callerMistake = (message: string): ToolFailure =>
  new ToolFailure('tool_error', message, { code: errorTable.invalid_input.jsonRpc });

/** A server somewhere did not do its part; the same call may succeed later. No fault of the tool. */
export const awayFailure = (message: string): ToolFailure => new ToolFailure('upstream_unavailable', message);

/** Limits on what runs and what waits at a time, so that the memory of all calls together is bounded. */
export class Slots {
  private readonly slots;

  constructor(
    /** The plural in "Too many … at the same time". */
    private readonly what: string,
    { maxConcurrent, maxWaiting }: { readonly maxConcurrent: number; readonly maxWaiting: number },
  ) {
    this.slots = bulkhead(maxConcurrent, maxWaiting);
  }

  /** @throws ToolFailure when too many wait; the signal's reason; what the work throws */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    try {
      return await this.slots.execute(() => {
        signal.throwIfAborted();
        return work();
      });
    } catch (error) {
      if (!(error instanceof BulkheadRejectedError)) throw error;
      throw awayFailure(`Too many ${this.what} at the same time: try again later`);
    }
  }
}
