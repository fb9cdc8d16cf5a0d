import type { Problem } from '../common/errors.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';

/** What a model reads of a call: the result, the tool's fallback, or why there is neither. */
export interface ReadableAnswer {
  readonly failed: boolean;
  /** Any JSON value. */
  readonly value: unknown;
}

export function readableOutcome(outcome: ToolOutcome): ReadableAnswer {
  if (outcome.status === 'success') return { failed: false, value: outcome.result };
  const { type, message } = outcome.error;
  return { failed: true, value: outcome.result ?? `${type}: ${message}` };
}

export const readableProblem = ({ code, detail, details }: Problem): ReadableAnswer => ({
  failed: true,
  value: details.fallback ?? `${code}: ${detail}`,
});

export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);
