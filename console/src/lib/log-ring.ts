/** The newest lines of an endless log. The oldest are dropped. */
export interface LogRing<T> {
  readonly lines: readonly T[];
  /** Number of dropped lines. */
  readonly dropped: number;
}

export const emptyRing = { lines: [], dropped: 0 } as const;

export function withLines<T>({ lines, dropped }: LogRing<T>, more: readonly T[], most: number): LogRing<T> {
  const all = [...lines, ...more];
  const surplus = Math.max(0, all.length - most);
  return { lines: surplus === 0 ? all : all.slice(surplus), dropped: dropped + surplus };
}
