/** The newest lines of something that never ends; older ones make room. */
export interface LogRing<T> {
  readonly lines: readonly T[];
  /** How many made room so far. */
  readonly dropped: number;
}

export const emptyRing = { lines: [], dropped: 0 } as const;

export function withLines<T>({ lines, dropped }: LogRing<T>, more: readonly T[], most: number): LogRing<T> {
  const all = [...lines, ...more];
  const surplus = Math.max(0, all.length - most);
  return { lines: surplus === 0 ? all : all.slice(surplus), dropped: dropped + surplus };
}
