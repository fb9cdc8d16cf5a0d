import { arrayLiteral } from '../common/pg-text.js';

/** A sender of statements: a `pg` client, a pool, TypeORM's data source. */
export interface Queryable {
  query(text: string, values: unknown[]): Promise<unknown>;
}

/** A column's type in the database, and a row's value in it. */
export type Column<Row> = readonly [type: string, of: (row: Row) => string | number | boolean | null];

/** The rows of an insert as parameters: one array a column, in the order of the columns. */
export class ColumnArrays<Row> {
  /** Column names: `tool_name` for `toolName`. */
  readonly names: readonly string[];
  /**
   * A `SELECT` of all rows. Arrays are opened among the selected: `FROM unnest(…)` puts each of them aside first, which
   * takes longer.
   */
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

  parametersOf(rows: readonly Row[]): string[] {
    return Object.values(this.columns).map(([, of]) => arrayLiteral(rows.map(of)));
  }
}
