/** The candidates with the smallest edit distance to the text, nearest first. */
export function nearest<T extends string>(text: string, candidates: readonly T[], limit = 2): T[] {
  const ranked = candidates.map((candidate) => ({ candidate, changes: distance(text, candidate) }));
  return ranked
    .sort((a, b) => a.changes - b.changes)
    .slice(0, limit)
    .map(({ candidate }) => candidate);
}

/** Levenshtein distance. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j += 1) {
      const replaced = (row[j] ?? 0) + (letter === to[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
