/** Runs a task for each item, `width` at a time. The task handles its own errors: the first one thrown ends the whole. */
export async function mapLimit<T>(
  items: Iterable<T>,
  width: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  // One iterator for all lanes: each takes the next item that is left.
  const rest = items[Symbol.iterator]();
  const lane = async (): Promise<void> => {
    for (let next = rest.next(); !next.done; next = rest.next()) await task(next.value);
  };
  await Promise.all(Array.from({ length: width }, lane));
}
