import type { Key, ReactNode } from 'react';
import { isOnControl } from '../lib/key-targets.js';
import css from './table.module.css';

export interface Column<T> {
  readonly name: string;
  /** Numbers stand right, so that their digits are below each other. */
  readonly isNumber?: boolean;
  /** Text that is too long ends in an ellipsis, instead of taking another line. */
  readonly cut?: boolean;
  /** Ids and names of tools. */
  readonly isMono?: boolean;
  /** In pixels; the columns without share the rest. */
  readonly width?: number;
  /** Hidden on small screens and beside a peek. */
  readonly isOptional?: boolean;
  readonly cell: (item: T) => ReactNode;
}

interface TableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (item: T) => Key;
  readonly onOpen?: (item: T) => void;
  readonly isSelected?: (item: T) => boolean;
  /** On a phone each row is a card: the first two columns, and the others below with their names. */
  readonly asCards?: boolean;
}

const numberWidth = 92;
const leastWidth = 110;

interface ColumnsProps {
  readonly columns: readonly Column<never>[];
}

const classOf = ({ isNumber, cut, isMono, isOptional }: Column<never>): string =>
  [isNumber && css.number, cut && css.cut, isMono && css.mono, isOptional && css.optional]
    .filter(Boolean)
    .join(' ');

const widthOf = ({ width, isNumber }: Column<never>): number | undefined =>
  width ?? (isNumber ? numberWidth : undefined);

/** The width below which a table is scrolled sideways. */
const leastWidthOf = (columns: readonly Column<never>[]): number =>
  columns.reduce((sum, column) => sum + (widthOf(column) ?? leastWidth), 0);

export const Head = ({ columns }: ColumnsProps): ReactNode => (
  <thead>
    <tr>
      {columns.map((column) => (
        <th key={column.name} scope="col" className={classOf(column)} style={{ width: widthOf(column) }}>
          {column.name}
        </th>
      ))}
    </tr>
  </thead>
);

export const Cells = <T,>({ columns, row }: { columns: readonly Column<T>[]; row: T }): ReactNode =>
  columns.map((column) => (
    <td key={column.name} className={classOf(column)} data-name={column.name}>
      {column.cell(row)}
    </td>
  ));

/**
 * Rows of one kind. With `onOpen` a click anywhere on a row opens it, for the mouse; its first cell should hold a link,
 * which does the same for the keyboard.
 */
export function Table<T>({ asCards, ...props }: TableProps<T>): ReactNode {
  const { label, columns, rows, keyOf, onOpen, isSelected } = props;
  const look = [css.table, onOpen && css.clickable, asCards && css.cards].filter(Boolean).join(' ');
  return (
    <div className={css.room}>
      <div className={css.scroll} role="region" aria-label={label} tabIndex={0}>
        <table className={look} aria-label={label} style={{ minWidth: leastWidthOf(columns) }}>
          <Head columns={columns} />
          <tbody>
            {rows.map((row) => (
              <tr
                key={keyOf(row)}
                data-row={keyOf(row)}
                tabIndex={onOpen && -1}
                data-selected={isSelected?.(row) === true ? '' : undefined}
                onClick={({ nativeEvent }) => !isOnControl(nativeEvent) && onOpen?.(row)}
              >
                <Cells columns={columns} row={row} />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
