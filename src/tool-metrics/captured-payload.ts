import { Buffer } from 'node:buffer';
import type { ToolCall } from '../tool-contract/tool-call.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';

/** Bytes of JSON that are kept of an input, and as many of what it was answered with. */
const maxCapturedBytes = 65_536;
const previewLength = 200;

/** An execution's input and answer, without what its tool knows to be secret. */
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
  const { tool, notes } = call.ticket;
  const { capture } = tool;
  if (!capture || (capture.of === 'failures' && outcome?.status === 'success')) return undefined;
  const answer =
    outcome?.status === 'success'
      ? // A large one, whose size is known, is not written down to be measured.
        part('result', outcome.result, notes.outputBytes)
      : part('error', outcome?.error ?? null);
  const parts = [part('input', call.input), answer];
  const kept = parts
    .filter(({ fits }) => fits)
    .map((each) => ({ ...each, clean: capture.clean(each.value) }));
  const omitted = parts.filter(({ fits }) => !fits).map(({ name }) => name);
  const input = kept.find(({ name }) => name === 'input');
  const line = input && jsonOf(input.clean);
  return {
    ...Object.fromEntries(kept.map(({ name, clean }) => [name, clean])),
    preview: line?.slice(0, previewLength) ?? '(not kept)',
    ...(omitted.length > 0 && { omitted }),
    ...(line !== input?.text && { redacted: true }),
  };
}

function part(name: string, value: unknown, bytesAtLeast = 0) {
  const text = bytesAtLeast > maxCapturedBytes ? undefined : jsonOf(value);
  return { name, value, text, fits: text !== undefined && Buffer.byteLength(text) <= maxCapturedBytes };
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
