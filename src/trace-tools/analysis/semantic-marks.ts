import type { ToolMetricsRepository } from '../../tool-metrics/tool-metrics.repository.js';
import type { ToolRegistry } from '../../tools/tool-registry.js';
import type { AnalysedSpan, Analysis, Issue } from './analysis.types.js';

const longestReason = 500;

/**
 * Marks the executions that judged spans tell of. Only a severe issue counts whose quotation stands in the span, of a tool
 * that says `mark`, and only where the span came with the key that had made the call.
 */
export async function markExecutions(
  { span_analyses: analyses }: Analysis,
  spans: readonly AnalysedSpan[],
  metrics: ToolMetricsRepository,
  registry: ToolRegistry,
): Promise<void> {
  for (const { span_id: id, issues } of analyses) {
    const severe = issues.find((issue) => issue.severity === 'high' && !issue.unverified);
    const told = spans.find((span) => span.span_id === id && span.execution_id !== null);
    if (severe && told) await mark(told, severe, metrics, registry);
  }
}

async function mark(
  { execution_id: id, key_id: key }: AnalysedSpan,
  { explanation, data_snippet: snippet }: Issue,
  metrics: ToolMetricsRepository,
  registry: ToolRegistry,
): Promise<void> {
  if (id === null || key === null) return;
  const execution = await metrics.getExecution(id);
  if (!execution || execution.semanticFailure !== null || execution.status !== 'success') return;
  const { semanticErrors } = registry.find(execution.toolName)?.definition ?? {};
  if (semanticErrors !== 'mark' || execution.metadata.keyId !== key) return;
  await metrics.markSemanticFailure(id, `${explanation}: ${snippet}`.slice(0, longestReason));
}
