/** Stops at the first branch that is too deep, so that the recursion is bounded by the limit. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (levels === 0) return true;
  for (const child of Object.values(value)) {
    if (isDeeperThan(child, levels - 1)) return true;
  }
  return false;
}
