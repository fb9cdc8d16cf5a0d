import type { ReactNode } from 'react';
import type { BottlenecksView } from '../../lib/api.js';
import { duration, number } from '../../lib/format.js';
import { Button } from '../../ui/controls.js';
import { Muted } from '../../ui/layout.js';
import { Empty } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import type { TraceStore } from './trace-store.js';
import css from './span-pane.module.css';

/** The server looks no further. */
const maxTimed = 20_000;

type Wait = BottlenecksView['data'][number];

interface BottlenecksProps {
  readonly waits: BottlenecksView | undefined;
  readonly store: TraceStore;
}

/** Spans on the critical path, beside a trace of which no span is selected. */
export function Bottlenecks({ waits, store }: BottlenecksProps): ReactNode {
  const { trace } = store;
  const columns: readonly Column<Wait>[] = [
    {
      name: 'Span',
      cut: true,
      cell: ({ span_id: id, operation }) => (
        <Button small look="quiet" onClick={() => store.select(trace.placeOf(id))}>
          {trace.placeOf(id) < 0 ? operation : trace.nameOf(trace.placeOf(id))}
        </Button>
      ),
    },
    { name: 'Own time', isNumber: true, cell: ({ self_ms: ms }) => duration(ms) },
    { name: 'Share', isNumber: true, cell: ({ percent_of_total: percent }) => `${percent} %` },
  ];
  if (!waits || waits.data.length === 0) return <Empty title="Select a span to read it" />;
  return (
    <div className={css.pane}>
      <h2>Bottlenecks</h2>
      <Muted>
        Spans that the run waited for, underlined among the bars. Select a span to read it.
        {trace.total > maxTimed && ` They are found among the first ${number(maxTimed)} spans.`}
      </Muted>
      <Table label="Bottlenecks" rows={waits.data} columns={columns} keyOf={({ span_id: id }) => id} />
    </div>
  );
}
