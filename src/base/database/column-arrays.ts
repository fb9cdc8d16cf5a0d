import { arrayLiteral } from '../common/pg-text.js';

/** Executes statements: a `pg` client, a pool or TypeORM's data source. */
export interface Queryable {
  query(text: string, values: unknown[]): Promise<unknown>;
}

/** The value of a column in a row. */
export type Cell = string | number | boolean | null;

/** A column's database type and its value in a row. */
export type Column<Row> = readonly [type: string, valueOf: (row: Row) => Cell];

/** Converts rows to the parameters of an insert: one array per column. */
export class ColumnArrays<Row> {
  /** Column names: `tool_name` for `toolName`. */
  readonly names: readonly string[];
  /** A `SELECT` of all rows, by `unnest` in the select list: `FROM unnest(…)` materialises each array first and is slower. */
  readonly select: string;

  constructor(private readonly columns: Readonly<Record<string, Column<Row>>>) {
    this.names = Object.keys(columns).map((name) =>
      name.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`),
    );
    const arrays = Object.values(columns).map(
      ([type], at) => `unnest($${at + 1}::${type}[]) AS ${this.names[at] ?? ''}`,
    );
    this.select = `SELECT ${arrays.join(', ')}`;
  }

  /** The values of the `SELECT`: one array literal for each column. */
  parametersOf(rows: readonly Row[]): string[] {
    return Object.values(this.columns).map(([, valueOf]) => arrayLiteral(rows.map(valueOf)));
  }
}
