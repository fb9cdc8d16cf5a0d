/** Every entry of a list, whatever the number of its pages. */
export async function allOf<T>(
  pageAt: (cursor?: string) => Promise<{ readonly data: readonly T[]; readonly nextCursor?: string | null }>,
): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | undefined;
  do {
    const { data, nextCursor } = await pageAt(cursor);
    all.push(...data);
    cursor = nextCursor ?? undefined;
  } while (cursor !== undefined);
  return all;
}
