/** How an endless list goes on: each page has the cursor of the next one. */
export const byCursor = {
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ nextCursor }: { readonly nextCursor: string | null }) => nextCursor ?? undefined,
};

interface Page {
  readonly pagination: { readonly offset: number; readonly limit: number; readonly total: number };
}

/** The same for pages that say how many rows there are. */
export const byOffset = {
  initialPageParam: 0,
  getNextPageParam: ({ pagination: { offset, limit, total } }: Page) =>
    offset + limit < total ? offset + limit : undefined,
};
