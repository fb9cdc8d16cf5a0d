import type { CallPart, UiMessage } from './ui-message.js';

export const textOf = ({ parts }: UiMessage): string =>
  parts
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('\n\n')
    .trim();

/** A chat as Markdown: its texts, and each call with its input and outcome. */
export const asMarkdown = (messages: readonly UiMessage[]): string =>
  messages
    .map(({ role, parts }) => {
      const texts = parts.map((part) =>
        part.type === 'dynamic-tool' ? callAsMarkdown(part) : part.type === 'text' ? part.text : '',
      );
      return `## ${role === 'user' ? 'Question' : 'Answer'}\n\n${texts.filter(Boolean).join('\n\n')}\n`;
    })
    .join('\n');

function callAsMarkdown({ toolName, input, output, errorText, state }: CallPart): string {
  const outcome = output?.error
    ? `${output.error.type}: ${output.error.message}`
    : (output?.status ?? errorText ?? state);
  const reference = output?.executionId === undefined ? '' : ` (execution \`${output.executionId}\`)`;
  return `- Called \`${toolName}\` with \`${JSON.stringify(input)}\`: ${outcome.replaceAll('\n', ' ')}${reference}`;
}

const pathOfExecution = (id: string): string => `/executions/${encodeURIComponent(id)}`;

/** Addresses by the ids that tools' results contain: of spans, traces and executions. Other ids are no links. */
export function linksById(messages: readonly UiMessage[]): ReadonlyMap<string, string> {
  const links = new Map<string, string>();
  const visit = (value: unknown, depth: number): void => {
    if (typeof value !== 'object' || value === null || depth > 12) return;
    const {
      span_id: span,
      trace_id: trace,
      execution_id: execution,
      executionId,
    } = value as Readonly<Record<string, unknown>>;
    if (typeof span === 'string' && typeof trace === 'string')
      links.set(span, `/traces/${encodeURIComponent(trace)}?span=${encodeURIComponent(span)}`);
    for (const id of [span, execution, trace])
      if (typeof id === 'string' && !links.has(id)) links.set(id, `/find?id=${encodeURIComponent(id)}`);
    if (typeof executionId === 'string') links.set(executionId, pathOfExecution(executionId));
    for (const each of Object.values(value)) visit(each, depth + 1);
  };
  for (const { parts } of messages)
    for (const part of parts)
      if (part.type === 'dynamic-tool') {
        visit(part.output?.result, 0);
        const { executionId: id } = part.output ?? {};
        if (id !== undefined) links.set(id, pathOfExecution(id));
      }
  return links;
}
