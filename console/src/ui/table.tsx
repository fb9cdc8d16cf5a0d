import { type Key, memo, type PointerEvent, type ReactNode, useCallback, useMemo } from 'react';
import { isOnControl } from '../lib/key-targets.js';
import { nextSort, type Sortable, sortedRows, sortOf } from '../lib/sorting.js';
import css from './table.module.css';
import { useRowKeys } from './use-row-keys.js';

export interface Column<T> extends Sortable<T> {
  readonly name: string;
  /** Numbers are aligned right, so that digits line up. */
  readonly isNumber?: boolean;
  /** Long text ends in an ellipsis instead of wrapping. */
  readonly cut?: boolean;
  /** Monospaced, for ids and names of tools. */
  readonly isMono?: boolean;
  /** Pixels; columns without a width share the rest. */
  readonly width?: number;
  /** Hidden on small screens and beside a peek. */
  readonly isOptional?: boolean;
  /** Place in the first line of a row's card on a phone; the others stand below. Default: the first column is the title. */
  readonly card?: 'title' | 'state';
  readonly cell: (item: T) => ReactNode;
}

interface Peeking {
  readonly selected: string | undefined;
  readonly select: (key?: string) => void;
}

export interface TableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (item: T) => Key;
  /** A click on a row, or Enter, opens it. */
  readonly onOpen?: (item: T) => void;
  /** A click on a row, J and K select it, to show it beside the list. */
  readonly peek?: Peeking;
  /** Marks the row that is shown elsewhere on the screen. */
  readonly isSelected?: (item: T) => boolean;
  /** false: the screen handles J and K, for several tables. */
  readonly hasKeys?: boolean;
  /** The order, as in the address. Heads of sortable columns change it. */
  readonly sort?: { readonly by: string | undefined; readonly change: (by: string | undefined) => void };
}

const numberWidth = 92;
const leastWidth = 110;

const classOf = ({ isNumber, cut, isMono, isOptional, card }: Column<never>): string =>
  [
    ...[isNumber && css.number, cut && css.cut, isMono && css.mono, isOptional && css.optional],
    card === 'title' && css.title,
    card === 'state' && css.state,
  ]
    .filter(Boolean)
    .join(' ');

const widthOf = ({ width, isNumber }: Column<never>): number | undefined =>
  width ?? (isNumber ? numberWidth : undefined);

/** The width below which a table is scrolled sideways. */
const leastWidthOf = (columns: readonly Column<never>[]): number =>
  columns.reduce((sum, column) => sum + (widthOf(column) ?? leastWidth), 0);

const ariaOrder = { asc: 'ascending', desc: 'descending' } as const;

function Head<T>({ columns, sort }: Pick<TableProps<T>, 'columns' | 'sort'>): ReactNode {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const order = sort && sortOf(column, sort.by);
          return (
            <th
              key={column.name}
              scope="col"
              className={classOf(column)}
              style={{ width: widthOf(column) }}
              aria-sort={order && ariaOrder[order]}
            >
              {sort && column.sort ? (
                <button type="button" onClick={() => sort.change(nextSort(column, sort.by))}>
                  {column.name}
                  <span aria-hidden="true">{order === undefined ? '' : order === 'asc' ? ' ↑' : ' ↓'}</span>
                </button>
              ) : (
                column.name
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

interface RowProps<T> {
  readonly row: T;
  readonly id: Key;
  readonly columns: readonly Column<T>[];
  readonly isSelected: boolean;
  readonly onPress: ((row: T) => void) | undefined;
  /** Its index in a list of which only a part is rendered. */
  readonly index?: number;
  readonly measure?: (element: HTMLElement | null) => void;
}

/** Memoised, so that scrolling and selecting render only the rows that change. */
export const TableRow = memo(function TableRow<T>(props: RowProps<T>): ReactNode {
  const { row, id, columns, isSelected, onPress, index, measure } = props;
  return (
    <tr
      ref={measure}
      data-row={id}
      data-index={index}
      aria-rowindex={index === undefined ? undefined : index + 2}
      tabIndex={onPress && -1}
      data-selected={isSelected ? '' : undefined}
      onClick={({ nativeEvent }) => !isOnControl(nativeEvent) && onPress?.(row)}
    >
      {columns.map((column) => (
        <td key={column.name} className={classOf(column)} data-name={column.name}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}) as <T>(props: RowProps<T>) => ReactNode;

/** Gives the cell under the pointer its text as title if it is truncated. */
function titleCutCell({ target }: PointerEvent): void {
  const cell = target instanceof Element ? target.closest('td') : null;
  if (cell) cell.title = cell.scrollWidth > cell.clientWidth ? (cell.textContent ?? '') : '';
}

interface FrameProps<T> extends Pick<TableProps<T>, 'label' | 'columns' | 'sort' | 'onOpen' | 'peek'> {
  readonly rowCount?: number;
  readonly isLong?: boolean;
  readonly children: ReactNode;
}

/** The parts of a table around its rows. */
export function TableFrame<T>({
  label,
  columns,
  sort,
  rowCount,
  isLong,
  children,
  ...acts
}: FrameProps<T>): ReactNode {
  const isClickable = acts.onOpen !== undefined || acts.peek !== undefined;
  const look = [css.table, isClickable && css.clickable, isLong && css.long].filter(Boolean).join(' ');
  return (
    <div className={css.room}>
      <div className={css.scroll} role="region" aria-label={label} tabIndex={0}>
        <table
          className={look}
          aria-label={label}
          aria-rowcount={rowCount}
          style={{ minWidth: leastWidthOf(columns) }}
          onPointerOver={titleCutCell}
        >
          <Head columns={columns} {...(sort && { sort })} />
          {children}
        </table>
      </div>
    </div>
  );
}

/** The rows in their order, and the actions on them. @param show brings a row into sight */
export function useRows<T>(props: TableProps<T>, show?: (index: number) => void) {
  const { rows, columns, sort, keyOf, onOpen, peek, isSelected } = props;
  const by = sort?.by;
  const ordered = useMemo(
    () => (by === undefined ? rows : sortedRows(rows, columns, by)),
    [rows, columns, by],
  );
  const isClickable = peek !== undefined || onOpen !== undefined;
  const hasKeys = isClickable && props.hasKeys !== false;
  const press = useCallback(
    (row: T): void => (peek ? peek.select(String(keyOf(row))) : onOpen?.(row)),
    [peek, keyOf, onOpen],
  );
  useRowKeys({
    ids: useMemo(() => (hasKeys ? ordered.map((row) => String(keyOf(row))) : []), [hasKeys, ordered, keyOf]),
    ...(peek && { selected: peek.selected, onSelect: peek.select }),
    onOpen: (id) => {
      const row = ordered.find((each) => String(keyOf(each)) === id);
      if (row !== undefined) (onOpen ?? press)(row);
    },
    ...(show && { show }),
  });
  const isChosen = (row: T): boolean =>
    peek ? peek.selected === String(keyOf(row)) : isSelected?.(row) === true;
  return { ordered, isChosen, press: isClickable ? press : undefined };
}

/** Rows of one kind. The first cell of rows that can be opened should hold a link, for the keyboard. */
export function Table<T>(props: TableProps<T>): ReactNode {
  const { columns, keyOf } = props;
  const { ordered, isChosen, press } = useRows(props);
  return (
    <TableFrame {...props}>
      <tbody>
        {ordered.map((row) => {
          const id = keyOf(row);
          return <TableRow key={id} {...{ id, row, columns }} isSelected={isChosen(row)} onPress={press} />;
        })}
      </tbody>
    </TableFrame>
  );
}
