import type { ReactNode } from 'react';
import css from './changes-table.module.css';
import { Note } from './layout.js';
import { LineDiff } from './line-diff.js';
import { Table } from './table.js';

/** A place where two values differ; `undefined` stands for what is not there. */
interface Change {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

interface ChangesTableProps {
  readonly label: string;
  readonly changes: readonly Change[];
  /** The heading of the values after. */
  readonly now?: string;
  /** Both sides of a value stand one above the other. */
  readonly isNarrow?: boolean;
}

const maxShown = 200;
const shownCharacters = 10_000;

/** Places where two values differ, each with both sides: texts line by line, all else as values. */
export function ChangesTable({ label, changes, now = 'After', isNarrow }: ChangesTableProps): ReactNode {
  const shownChanges = changes.slice(0, maxShown);
  const values = shownChanges.filter((change) => !isOfTexts(change));
  return (
    <>
      {values.length > 0 && (
        <Table
          label={label}
          rows={values}
          keyOf={({ path }) => path}
          columns={[
            { name: 'Path', cell: ({ path }) => <code>{path || 'whole value'}</code> },
            {
              name: isNarrow ? 'Before, after' : 'Before',
              cell: ({ before, after }) => (
                <>
                  <Value value={before} /> {isNarrow && <Value value={after} />}
                </>
              ),
            },
            ...(isNarrow ? [] : [{ name: now, cell: ({ after }: Change) => <Value value={after} /> }]),
          ]}
        />
      )}
      {shownChanges.filter(isOfTexts).map(({ path, before, after }) => (
        <section key={path} className={css.texts}>
          <h3>
            <code>{path || 'whole value'}</code>
          </h3>
          <LineDiff label={`${label}: ${path}`} before={before} after={after} now={now} />
        </section>
      ))}
      {changes.length > maxShown && <Note>{changes.length - maxShown} more are not shown.</Note>}
    </>
  );
}

const isOfTexts = (change: Change): change is Change & { before: string; after: string } =>
  typeof change.before === 'string' &&
  typeof change.after === 'string' &&
  `${change.before}${change.after}`.includes('\n');

const Value = ({ value }: { readonly value: unknown }): ReactNode => (
  <code className={css.value}>{shown(value)}</code>
);

/** Text of several lines reads better as it is than as JSON. */
const shown = (value: unknown): string => {
  if (value === undefined) return '–';
  const text = typeof value === 'string' && value.includes('\n') ? value : JSON.stringify(value);
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters)} …` : text;
};
