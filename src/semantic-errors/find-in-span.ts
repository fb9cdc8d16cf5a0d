import { findInTexts, type SemanticFinding } from './find-semantic-error.js';

/** The texts of a span that answered something; never what a system or a user said. */
export interface SpanAnswers {
  readonly outputs: readonly string[];
  /** Of messages of the role tool that no earlier span had. */
  readonly toolMessages: readonly string[];
}

export interface SpanFinding extends SemanticFinding {
  readonly source: 'output' | 'input';
  /** The place of its text in the list. */
  readonly index: number;
}

/** The most severe error that a span's answers tell of; of several, the first: outputs, then messages. */
export function findInSpan({ outputs, toolMessages }: SpanAnswers): SpanFinding | undefined {
  const found = findInTexts([...outputs, ...toolMessages]);
  if (!found) return undefined;
  const { finding, index } = found;
  return index < outputs.length
    ? { ...finding, source: 'output', index }
    : { ...finding, source: 'input', index: index - outputs.length };
}
