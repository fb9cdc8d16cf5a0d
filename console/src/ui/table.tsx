import type { Key, ReactNode } from 'react';
import { isOnControl } from '../lib/key-targets.js';
import css from './table.module.css';

export interface Column<T> {
  readonly name: string;
  /** Numbers stand right, so that their digits are below each other. */
  readonly isNumber?: boolean;
  /** Text that is too long ends in an ellipsis, instead of taking another line. */
  readonly cut?: boolean;
  readonly cell: (item: T) => ReactNode;
}

interface TableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (item: T) => Key;
  readonly onOpen?: (item: T) => void;
  readonly isSelected?: (item: T) => boolean;
}

const classOf = ({ isNumber, cut }: Column<never>): string =>
  [isNumber && css.number, cut && css.cut].filter(Boolean).join(' ');

/**
 * Rows of one kind. With `onOpen` a click anywhere on a row opens it, for the mouse; its first cell should hold a link,
 * which does the same for the keyboard.
 */
export function Table<T>({ label, columns, rows, keyOf, onOpen, isSelected }: TableProps<T>): ReactNode {
  return (
    <div className={css.scroll} role="region" aria-label={label} tabIndex={0}>
      <table className={`${css.table} ${onOpen ? css.clickable : ''}`} aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" className={column.isNumber === true ? css.number : ''}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={keyOf(row)}
              data-row={keyOf(row)}
              tabIndex={onOpen && -1}
              data-selected={isSelected?.(row) === true ? '' : undefined}
              onClick={({ nativeEvent }) => !isOnControl(nativeEvent) && onOpen?.(row)}
            >
              {columns.map((column) => (
                <td key={column.name} className={classOf(column as Column<never>)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
