import { errorTable, type OutcomeCode } from '../common/errors.js';
import type { ToolDefinition } from '../tool-contract/tool.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';

/** The execution that a call waited for goes on; the call's own time is up. */
export function lateOutcome(executionId: string, tool: ToolDefinition, waitedMs: number): ToolOutcome {
  return outcome(executionId, tool, 'timeout', `No answer within ${waitedMs} ms`, waitedMs);
}

/** Nobody reads it. */
export function leftOutcome(executionId: string, tool: ToolDefinition): ToolOutcome {
  return outcome(executionId, tool, 'cancelled', 'The caller left before the tool ended', 0);
}

function outcome(
  executionId: string,
  { name, fallback }: ToolDefinition,
  type: Extract<OutcomeCode, 'timeout' | 'cancelled'>,
  message: string,
  executionTimeMs: number,
): ToolOutcome {
  return {
    executionId,
    tool: name,
    executionTimeMs,
    attempts: 1,
    cached: false,
    status: type === 'timeout' ? 'timeout' : 'error',
    error: { code: errorTable[type].jsonRpc, type, message },
    ...(fallback !== undefined && { result: fallback }),
  };
}
