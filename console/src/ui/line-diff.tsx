import type { ReactNode } from 'react';
import { lineChanges } from '../lib/changes.js';
import css from './line-diff.module.css';

interface LineDiffProps {
  readonly label: string;
  readonly before: string;
  readonly after: string;
  /** Heading of the old text. */
  readonly was?: string;
  /** Heading of the new text. */
  readonly now: string;
}

const maxShown = 2_000;

/** Two texts line by line, side by side. */
export function LineDiff({ label, before, after, was = 'Before', now }: LineDiffProps): ReactNode {
  const rows = lineChanges(before, after);
  return (
    <div className={css.scroll} role="region" aria-label={label} tabIndex={0}>
      <table className={css.lines} aria-label={label}>
        <thead>
          <tr>
            <th scope="col">{was}</th>
            <th scope="col">{now}</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, maxShown).map((row, index) => (
            <tr key={index}>
              {'leftOut' in row ? (
                <Aside>{row.leftOut} lines are the same</Aside>
              ) : (
                <>
                  <td>{row.isSame ? row.before : row.before !== undefined && <del>{row.before}</del>}</td>
                  <td>{row.isSame ? row.after : row.after !== undefined && <ins>{row.after}</ins>}</td>
                </>
              )}
            </tr>
          ))}
          {rows.length > maxShown && (
            <tr>
              <Aside>{rows.length - maxShown} more lines are not shown</Aside>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

const Aside = ({ children }: { readonly children: ReactNode }): ReactNode => (
  <td colSpan={2} className={css.aside}>
    {children}
  </td>
);
