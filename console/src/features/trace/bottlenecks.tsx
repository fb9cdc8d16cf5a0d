import type { ReactNode } from 'react';
import { duration, percent } from '../../lib/format.js';
import { Button } from '../../ui/controls.js';
import { Muted } from '../../ui/layout.js';
import { type Column, Table } from '../../ui/table.js';
import type { TraceStore } from './trace-store.js';
import css from './trace.module.css';

const maxRows = 100;

/** Spans on the critical path, the longest first. */
export function Bottlenecks({ store }: { readonly store: TraceStore }): ReactNode {
  const { trace, waits } = store;
  const spans = Array.from(waits.keys()).filter((span) => (waits[span] ?? 0) > 0);
  const waitOf = (span: number): number => waits[span] ?? 0;
  const columns: readonly Column<number>[] = [
    {
      ...{ name: 'Span', cut: true },
      cell: (span) => (
        <Button small look="quiet" onClick={() => store.select(span)}>
          {trace.nameOf(span)}
        </Button>
      ),
    },
    { name: 'Own time', isNumber: true, cell: (span) => duration(waitOf(span)) },
    { name: 'Share', isNumber: true, cell: (span) => percent(waitOf(span) / trace.durationMs) },
  ];
  return (
    <div className={css.pane}>
      <Muted>Spans that the trace waited for, underlined among the bars. Select a span to read it.</Muted>
      <Table
        label="Bottlenecks"
        rows={spans.sort((a, b) => waitOf(b) - waitOf(a)).slice(0, maxRows)}
        columns={columns}
        keyOf={(span) => span}
      />
    </div>
  );
}
