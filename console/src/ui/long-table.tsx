import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useEffectEvent, useRef } from 'react';
import css from './table.module.css';
import { TableFrame, type TableProps, TableRow, useRows } from './table.js';

interface LongTableProps<T> extends TableProps<T> {
  /** Whether there are rows that are not loaded yet. */
  readonly hasMore: boolean;
  /** Loads more when the last rows are near; absent during a load. */
  readonly onNearEnd: (() => void) | undefined;
}

const rowHeight = 32;
const cardHeight = 57;
/** Cards differ in height and are measured; measuring rows would cost each frame of scrolling. */
const areCards = (): boolean => window.matchMedia('(max-width: 640px)').matches;
const nearEnd = 20;

/** A table of any length: only visible rows are rendered, each in one line. */
export function LongTable<T>(props: LongTableProps<T>): ReactNode {
  const { rows, columns, keyOf, hasMore } = props;
  const frame = useRef<HTMLDivElement>(null);
  const isCards = areCards();
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => (isCards ? cardHeight : rowHeight),
    overscan: 8,
    scrollMargin: frame.current?.offsetTop ?? 0,
  });
  const { ordered, isChosen, press } = useRows(props, (index) =>
    virtual.scrollToIndex(index, { align: 'auto' }),
  );
  const items = virtual.getVirtualItems();
  const last = items.at(-1);
  const load = useEffectEvent(() => props.onNearEnd?.());
  const isNearEnd = last !== undefined && last.index >= rows.length - nearEnd;
  const mayLoad = hasMore && props.onNearEnd !== undefined;
  useEffect(() => {
    if (isNearEnd && mayLoad) load();
  }, [isNearEnd, rows.length, mayLoad]);
  const { scrollMargin } = virtual.options;
  const above = (items[0]?.start ?? 0) - scrollMargin;
  const below = virtual.getTotalSize() - ((last?.end ?? 0) - scrollMargin);
  return (
    <div ref={frame}>
      <TableFrame {...props} rowCount={hasMore ? -1 : rows.length + 1} isLong>
        <tbody>
          <Spacer height={above} />
          {items.map(({ index }) => {
            const row = ordered[index];
            if (row === undefined) return null;
            const id = keyOf(row);
            return (
              <TableRow
                key={id}
                {...{ id, row, columns, index }}
                isSelected={isChosen(row)}
                onPress={press}
                {...(isCards && { measure: virtual.measureElement })}
              />
            );
          })}
          <Spacer height={below} />
        </tbody>
      </TableFrame>
    </div>
  );
}

/** Placeholder for rows that are not rendered. */
const Spacer = ({ height }: { readonly height: number }): ReactNode =>
  height > 0 && (
    <tr className={css.spacer} aria-hidden="true">
      <td style={{ height }} />
    </tr>
  );
