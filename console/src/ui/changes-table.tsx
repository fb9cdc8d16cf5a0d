import type { ReactNode } from 'react';
import css from './changes-table.module.css';
import { Note } from './layout.js';
import { LineDiff } from './line-diff.js';
import { Table } from './table.js';

/** A place where two values differ. `undefined`: that side has no value. */
interface Change {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

interface ChangesTableProps {
  readonly label: string;
  readonly changes: readonly Change[];
  /** Heading of the new values. */
  readonly now?: string;
  /** Shows both sides of a value one above the other. */
  readonly isNarrow?: boolean;
}

const maxShown = 200;
const shownCharacters = 10_000;

/** Table of the places where two values differ. Texts are compared line by line. */
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

/** Multi-line text is shown as it is, because JSON would escape its line ends. */
const shown = (value: unknown): string => {
  if (value === undefined) return '–';
  const text = typeof value === 'string' && value.includes('\n') ? value : JSON.stringify(value);
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters)} …` : text;
};
