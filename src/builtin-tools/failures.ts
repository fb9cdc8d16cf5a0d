import { errorTable } from '../common/errors.js';
import { ToolFailure } from '../tool-contract/tool-outcome.js';

/** The caller asked for what cannot be had; another input may do better. No fault of the tool. */
export const callerMistake = (message: string): ToolFailure =>
  new ToolFailure('tool_error', message, { code: errorTable.invalid_input.jsonRpc });

/** A server somewhere did not do its part; the same call may succeed later. No fault of the tool. */
export const awayFailure = (message: string): ToolFailure => new ToolFailure('upstream_unavailable', message);
