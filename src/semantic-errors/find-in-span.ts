import { findInTexts, type SemanticFinding } from './find-semantic-error.js';

/** The texts of a span that answered something; never what a system or a user said. */
export interface SpanAnswers {
  readonly outputs: readonly string[];
  /** Of messages of the role tool that are new with this span: see `newToolMessages`. */
  readonly toolMessages: readonly string[];
}

export interface SpanFinding extends SemanticFinding {
  readonly source: 'output' | 'input';
}

/** The most severe error that a span's answers tell of; of several, the first: outputs, then messages. */
export function findInSpan({ outputs, toolMessages }: SpanAnswers): SpanFinding | undefined {
  const found = findInTexts([...outputs, ...toolMessages]);
  return found && { ...found.finding, source: found.index < outputs.length ? 'output' : 'input' };
}

/**
 * A conversation repeats all its messages with every request. The results of tools that stand after the model's last
 * turn have not been sent before, so that each is looked at once: with the first span that has it.
 */
export function newToolMessages<Message extends { readonly role?: unknown }>(
  messages: readonly Message[],
): Message[] {
  const lastTurn = messages.findLastIndex(({ role }) => role === 'assistant' || role === 'model');
  return messages.slice(lastTurn + 1).filter(({ role }) => role === 'tool');
}
