import type { ReactNode } from 'react';
import { duration, number, percent } from '../../lib/format.js';
import { Button } from '../../ui/controls.js';
import { Muted } from '../../ui/layout.js';
import { type Column, Table } from '../../ui/table.js';
import type { TraceStore } from './trace-store.js';
import css from './trace.module.css';

const maxRows = 100;

interface Row {
  readonly name: string;
  /** The span of this name for which the trace waited longest. */
  readonly longest: number;
  readonly count: number;
  readonly ms: number;
}

/** Spans on the critical path by name, the longest first. */
export function Bottlenecks({ store }: { readonly store: TraceStore }): ReactNode {
  const { trace, waits } = store;
  const spans = Array.from(waits.keys()).filter((span) => (waits[span] ?? 0) > 0);
  const waitOf = (span: number): number => waits[span] ?? 0;
  const byName = Map.groupBy(
    spans.sort((a, b) => waitOf(b) - waitOf(a)),
    (span) => trace.nameOf(span),
  );
  const rows = [...byName].map(([name, [longest = 0, ...others]]) => ({
    ...{ name, longest, count: others.length + 1 },
    ms: others.reduce((sum, span) => sum + waitOf(span), waitOf(longest)),
  }));
  const columns: readonly Column<Row>[] = [
    {
      ...{ name: 'Span', cut: true },
      cell: ({ name, longest }) => (
        <Button small look="quiet" onClick={() => store.select(longest)}>
          {name}
        </Button>
      ),
    },
    { name: 'Spans', isNumber: true, cell: ({ count }) => number(count) },
    { name: 'Own time', isNumber: true, cell: ({ ms }) => duration(ms) },
    { name: 'Share', isNumber: true, cell: ({ ms }) => percent(ms / trace.durationMs) },
  ];
  return (
    <div className={css.pane}>
      <Muted>
        Spans that the trace waited for, underlined among the bars. Select a name to read its longest span.
      </Muted>
      <Table
        label="Bottlenecks"
        rows={rows.sort((a, b) => b.ms - a.ms).slice(0, maxRows)}
        columns={columns}
        keyOf={({ name }) => name}
      />
    </div>
  );
}
