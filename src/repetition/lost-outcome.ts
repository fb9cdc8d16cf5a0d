import { errorTable } from '../common/errors.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';

/** The outcome of a call of which nobody knows how it ended. */
export function interruptedOutcome(executionId: string, tool: string): ToolOutcome {
  const message =
    'The first call with this key was interrupted. The result is unknown: the tool may have done its work';
  return failure(executionId, tool, 'interrupted', message);
}

/** Stands for an outcome that is over the cap: the call is not run again, and no success is claimed without a result. */
export function unkeptOutcome(outcome: ToolOutcome, bytes: number, maxBytes: number): ToolOutcome {
  const { executionId, tool, status, executionTimeMs, attempts } = outcome;
  const message =
    `The first call with this key ended with status ${status}; its outcome of ${bytes} bytes was answered then and ` +
    `not kept: the cap is ${maxBytes} (IDEMPOTENCY_MAX_OUTCOME_BYTES)`;
  return { ...failure(executionId, tool, 'output_too_large', message), executionTimeMs, attempts };
}

function failure(
  executionId: string,
  tool: string,
  type: 'interrupted' | 'output_too_large',
  message: string,
): ToolOutcome {
  return {
    executionId,
    tool,
    executionTimeMs: 0,
    attempts: 1,
    cached: false,
    status: 'error',
    error: { code: errorTable[type].jsonRpc, type, message },
  };
}
