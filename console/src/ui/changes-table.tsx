import type { ReactNode } from 'react';
import css from './changes-table.module.css';
import { Note } from './layout.js';
import { Table } from './table.js';

/** A place where two values differ; `undefined` stands for what is not there. */
interface Change {
  readonly pointer: string;
  readonly before: unknown;
  readonly after: unknown;
}

interface ChangesTableProps {
  readonly label: string;
  readonly changes: readonly Change[];
  /** The heading of the values after. */
  readonly now?: string;
}

const mostShown = 200;
const shownCharacters = 10_000;

/** Places where two values differ, each with both sides. */
export const ChangesTable = ({ label, changes, now = 'After' }: ChangesTableProps): ReactNode => (
  <>
    <Table
      label={label}
      rows={changes.slice(0, mostShown)}
      keyOf={({ pointer }) => pointer}
      columns={[
        { name: 'Where', cell: ({ pointer }) => <code>{pointer || 'all of it'}</code> },
        { name: 'Before', cell: ({ before }) => <Value value={before} /> },
        { name: now, cell: ({ after }) => <Value value={after} /> },
      ]}
    />
    {changes.length > mostShown && <Note>{changes.length - mostShown} more are not shown.</Note>}
  </>
);

const Value = ({ value }: { readonly value: unknown }): ReactNode => (
  <code className={css.value}>{shown(value)}</code>
);

/** Text of several lines reads better as it is than as JSON. */
const shown = (value: unknown): string => {
  if (value === undefined) return '–';
  const text = typeof value === 'string' && value.includes('\n') ? value : JSON.stringify(value);
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters)} …` : text;
};
