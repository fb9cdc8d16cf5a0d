import type { BottleneckView } from './trace-views.dto.js';

/** A span on the clock; times in microseconds since the epoch. */
export interface TimedSpan {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_span_id: string | null;
  readonly operation: string;
  readonly start_us: number;
  readonly finish_us: number;
}

/**
 * The spans of a run on its critical path, the longest first. At every moment the run waits for one span: of those that
 * run, the one that ends last, and of its children again the one that ends last. Spans below themselves are left out.
 */
export function bottlenecks(spans: readonly TimedSpan[]): { total_ms: number; data: BottleneckView[] } {
  if (spans.length === 0) return { total_ms: 0, data: [] };
  const idOf = ({ trace_id, span_id }: Pick<TimedSpan, 'trace_id' | 'span_id'>): string =>
    `${trace_id} ${span_id}`;
  const known = new Set(spans.map(idOf));
  const parentOf = (span: TimedSpan): string => {
    const id = span.parent_span_id === null ? '' : `${span.trace_id} ${span.parent_span_id}`;
    return known.has(id) ? id : '';
  };
  const children = Map.groupBy(spans, parentOf);
  for (const list of children.values())
    list.sort((a, b) => b.finish_us - a.finish_us || a.start_us - b.start_us);
  const start = spans.reduce((first, { start_us }) => Math.min(first, start_us), Infinity);
  const finish = spans.reduce((last, { finish_us }) => Math.max(last, finish_us), -Infinity);
  const waited = new Map<TimedSpan, number>();
  // Backwards in time: a stretch is the span's own as far as no child of it reaches. A stack, for traces may be deep.
  const stretches: { span?: TimedSpan; from: number; to: number }[] = [{ from: start, to: finish }];
  for (let next = stretches.pop(); next; next = stretches.pop()) {
    const { span, from } = next;
    let { to } = next;
    for (const child of children.get(span ? idOf(span) : '') ?? []) {
      const [begins, ends] = [Math.max(child.start_us, from), Math.min(child.finish_us, to)];
      if (begins >= ends) continue;
      if (span) waited.set(span, (waited.get(span) ?? 0) + to - ends);
      stretches.push({ span: child, from: begins, to: ends });
      to = begins;
    }
    if (span) waited.set(span, (waited.get(span) ?? 0) + to - from);
  }
  const total = finish - start;
  const data = [...waited]
    .filter(([, us]) => us > 0)
    .sort(([a, us], [b, other]) => other - us || a.start_us - b.start_us || (a.span_id < b.span_id ? -1 : 1))
    .map(([{ span_id, trace_id, operation }, us]) => ({
      span_id,
      trace_id,
      operation,
      self_ms: Math.round(us / 1_000),
      percent_of_total: Math.round((us / total) * 1_000) / 10,
    }));
  return { total_ms: Math.round(total / 1_000), data };
}
