/** Paging of a list by cursors. */
export const byCursor = {
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ nextCursor }: { readonly nextCursor: string | null }) => nextCursor ?? undefined,
};

interface Page {
  readonly pagination: { readonly offset: number; readonly limit: number; readonly total: number };
}

/** Paging for answers with a total number of rows. */
export const byOffset = {
  initialPageParam: 0,
  getNextPageParam: ({ pagination: { offset, limit, total } }: Page) =>
    offset + limit < total ? offset + limit : undefined,
};
