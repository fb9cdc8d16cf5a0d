/** @returns the known name that a misspelt one most likely means; undefined if none is near */
export function nearestName(given: string, known: Iterable<string>): string | undefined {
  const wanted = letters(given);
  const ranked = Array.from(known, (name) => ({ name, distance: distanceOf(wanted, letters(name)) }));
  const best = ranked.sort((a, b) => a.distance - b.distance)[0];
  return best && best.distance <= Math.max(1, Math.floor(wanted.length / 4)) ? best.name : undefined;
}

const letters = (name: string): string =>
  name
    .slice(0, maxLength)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');
const maxLength = 64;
/** A shorter beginning of a name may be any word. */
const minBeginning = 4;

/** Edits that lead from one name to the other; a name that continues the other counts as one. */
function distanceOf(one: string, other: string): number {
  const isBeginning = one.startsWith(other) || other.startsWith(one);
  if (isBeginning && one !== other && Math.min(one.length, other.length) >= minBeginning) return 1;
  let row = Array.from({ length: other.length + 1 }, (_, n) => n);
  for (const [n, char] of [...one].entries()) {
    const next = [n + 1];
    for (const [m, before] of row.entries()) {
      if (m === other.length) break;
      const replaced = before + (other[m] === char ? 0 : 1);
      next.push(Math.min(replaced, (row[m + 1] ?? 0) + 1, (next[m] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
