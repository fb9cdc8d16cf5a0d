import { sanitisedText } from '../common/pg-text.js';

/** The values of a statement, each added where its text names it. */
export class SqlValues {
  readonly all: unknown[] = [];

  add(value: unknown): string {
    return `$${this.all.push(typeof value === 'string' ? sanitisedText(value) : value)}`;
  }
}

export interface Statement {
  readonly text: string;
  readonly values: unknown[];
}

/** @param textOf adds each value where the text names it */
export function statement(textOf: (values: SqlValues) => string): Statement {
  const values = new SqlValues();
  return { text: textOf(values), values: values.all };
}
