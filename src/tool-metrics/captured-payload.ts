import { Buffer } from 'node:buffer';
import type { ToolCall } from '../tool-contract/tool-call.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';

/** Bytes of JSON that are kept of an input, and as many of what it was answered with. */
export const maxCapturedBytes = 65_536;
const previewLength = 200;

/** What an execution was given and answered, without what its tool knows to be secret. */
export interface CapturedPayload {
  /** The input in one line. */
  readonly preview: string;
  readonly input?: unknown;
  readonly result?: unknown;
  /** As in the outcome. */
  readonly error?: unknown;
  /** Parts that were too large, or no JSON. */
  readonly omitted?: readonly string[];
  /** A secret was taken out of the input: it is not what the tool was given. */
  readonly redacted?: true;
}

/**
 * The part of an execution's end that its tool wants kept; undefined for most tools.
 * @param outcome undefined: the server failed
 */
export function capturedPayload(
  call: ToolCall,
  outcome: ToolOutcome | undefined,
): CapturedPayload | undefined {
  const { capture } = call.ticket.tool;
  if (!capture || (capture.of === 'failures' && outcome?.status === 'success')) return undefined;
  const answer = outcome?.status === 'success' ? { result: outcome.result } : { error: outcome?.error };
  const parts = { input: call.input, ...answer };
  const omitted: string[] = [];
  const kept: Record<string, unknown> = {};
  let isRedacted = false;
  for (const [name, value] of Object.entries(parts)) {
    const text = jsonOf(value);
    if (text === undefined) continue;
    if (Buffer.byteLength(text) > maxCapturedBytes) omitted.push(name);
    else kept[name] = capture.clean(value);
    if (name === 'input') isRedacted = name in kept && jsonOf(kept[name]) !== text;
  }
  return {
    preview: 'input' in kept ? lineOf(kept['input']) : '(not kept)',
    ...kept,
    ...(omitted.length > 0 && { omitted }),
    ...(isRedacted && { redacted: true }),
  };
}

const lineOf = (input: unknown): string => (jsonOf(input) ?? '').slice(0, previewLength);

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
