import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { memo, type ReactNode, useEffect, useMemo, useRef } from 'react';
import type { ExecutionView } from '../../lib/api.js';
import { number } from '../../lib/format.js';
import { isOnControl } from '../../lib/key-targets.js';
import { columnsOf } from '../../ui/execution-table.js';
import { Failed } from '../../ui/states.js';
import { Cells, Head } from '../../ui/table.js';
import { useRowKeys } from '../../ui/use-row-keys.js';
import shared from '../../ui/table.module.css';
import css from './executions.module.css';

interface ExecutionListProps {
  readonly rows: readonly ExecutionView[];
  readonly hasMore: boolean;
  readonly isBusy: boolean;
  /** Whether the last page failed to load. */
  readonly error: Error | null;
  readonly onMore: () => void;
  readonly selected: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
  readonly onOpen: (id: string) => void;
}

const rowHeight = 32;
const tableLook = `${shared.table} ${shared.clickable} ${css.table}`;

/** The loaded executions; only visible rows are rendered. */
export function ExecutionList(props: ExecutionListProps): ReactNode {
  const { rows, hasMore, isBusy, error, onMore, selected, onSelect } = props;
  const frame = useRef<HTMLDivElement>(null);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowHeight,
    overscan: 8,
    scrollMargin: frame.current?.offsetTop ?? 0,
  });
  const ids = useMemo(() => rows.map(({ metricId }) => metricId), [rows]);
  const columns = useMemo(() => columnsOf(rows), [rows]);
  const items = virtual.getVirtualItems();
  const last = items.at(-1);
  useEffect(() => {
    if (last && last.index >= rows.length - 20 && hasMore && !isBusy && !error) onMore();
  }, [last, rows.length, hasMore, isBusy, error, onMore]);
  useRowKeys({
    ...{ ids, selected, onSelect, onOpen: props.onOpen },
    show: (index) => virtual.scrollToIndex(index, { align: 'auto' }),
  });
  const above = (items[0]?.start ?? 0) - virtual.options.scrollMargin;
  const below = virtual.getTotalSize() - ((last?.end ?? 0) - virtual.options.scrollMargin);
  return (
    <div ref={frame} className={`${css.list} ${shared.room}`}>
      <div className={shared.scroll}>
        <table className={tableLook} aria-label="Executions" aria-rowcount={hasMore ? -1 : rows.length + 1}>
          <Head columns={columns} />
          <tbody>
            <Spacer height={above} />
            {items.map(({ index }) => {
              const row = rows[index];
              return (
                row && (
                  <ExecutionRow
                    key={row.metricId}
                    row={row}
                    columns={columns}
                    index={index}
                    isSelected={row.metricId === selected}
                    onSelect={onSelect}
                  />
                )
              );
            })}
            <Spacer height={below} />
          </tbody>
        </table>
      </div>
      <Foot {...props} />
    </div>
  );
}

const Foot = ({ rows, hasMore, isBusy, error, onMore }: ExecutionListProps): ReactNode => (
  <>
    <p className={css.foot} role="status">
      {isBusy ? 'Loading …' : `${number(rows.length)} ${hasMore ? 'loaded; scroll for more' : 'in all'}`}
    </p>
    {error && !isBusy && <Failed error={error} retry={onMore} />}
  </>
);

/** Stands for the rows that are out of sight. */
const Spacer = ({ height }: { readonly height: number }): ReactNode =>
  height > 0 && (
    <tr className={css.spacer} aria-hidden="true">
      <td style={{ height }} />
    </tr>
  );

interface ExecutionRowProps {
  readonly row: ExecutionView;
  readonly columns: ReturnType<typeof columnsOf>;
  readonly index: number;
  readonly isSelected: boolean;
  readonly onSelect: (id: string) => void;
}

/** Scrolling draws the rows that come into sight, and no other anew. */
const ExecutionRow = memo(({ row, columns, index, isSelected, onSelect }: ExecutionRowProps) => (
  <tr
    aria-rowindex={index + 2}
    data-row={row.metricId}
    tabIndex={-1}
    data-selected={isSelected ? '' : undefined}
    onClick={({ nativeEvent }) => !isOnControl(nativeEvent) && onSelect(row.metricId)}
  >
    <Cells columns={columns} row={row} />
  </tr>
));
ExecutionRow.displayName = 'ExecutionRow';
