import { errorTable } from '../../base/common/errors.js';
import { ToolFailure } from '../../web/contract/tool-outcome.js';

/** A failure because of the input, which does not count against the tool. */
export const callerMistake = (message: string): ToolFailure =>
  new ToolFailure('tool_error', message, { code: errorTable.invalid_input.jsonRpc });

/** A failure of another server, which does not count against the tool; the same call may succeed later. */
export const awayFailure = (message: string): ToolFailure => new ToolFailure('upstream_unavailable', message);
