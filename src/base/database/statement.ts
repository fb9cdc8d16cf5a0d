import { sanitisedText } from '../common/pg-text.js';

/** The values of a statement, which is built together with them. */
export class SqlValues {
  readonly all: unknown[] = [];

  /** Adds a value. @returns its placeholder for the text, such as `$1` */
  add(value: unknown): string {
    return `$${this.all.push(typeof value === 'string' ? sanitisedText(value) : value)}`;
  }
}

/** An SQL statement with its values. */
export interface Statement {
  readonly text: string;
  readonly values: unknown[];
}

/** Builds a statement. @param textOf returns the text, and adds each value where the text needs it */
export function statement(textOf: (values: SqlValues) => string): Statement {
  const values = new SqlValues();
  return { text: textOf(values), values: values.all };
}
