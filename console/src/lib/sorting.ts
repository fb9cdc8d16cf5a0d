type Value = string | number | null | undefined;

export interface Sortable<T> {
  /** Name in the address, and the value of a row. Rows without a value come last. */
  readonly sort?: {
    readonly by: string;
    readonly value: (item: T) => Value;
    /** Largest or newest first. */
    readonly isDescending?: boolean;
  };
}

type Order = 'asc' | 'desc';

/** `-` before the name reverses the order of the column. */
export function sortOf({ sort }: Sortable<never>, by: string | undefined): Order | undefined {
  if (!sort || (by !== sort.by && by !== `-${sort.by}`)) return undefined;
  return (by === sort.by) === (sort.isDescending === true) ? 'desc' : 'asc';
}

/** The order after a click on the head: first the column's own, then reversed, then none. */
export function nextSort({ sort }: Sortable<never>, by: string | undefined): string | undefined {
  if (!sort || by === `-${sort.by}`) return undefined;
  return by === sort.by ? `-${sort.by}` : sort.by;
}

export function sortedRows<T>(rows: readonly T[], columns: readonly Sortable<T>[], by: string): readonly T[] {
  const column = columns.find((each) => sortOf(each, by) !== undefined);
  if (!column?.sort) return rows;
  const { value } = column.sort;
  const sign = sortOf(column, by) === 'desc' ? -1 : 1;
  return rows.toSorted((one, other) => {
    const a = value(one);
    const b = value(other);
    if (a == null || b == null) return Number(a == null) - Number(b == null);
    return (
      sign * (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b)))
    );
  });
}
