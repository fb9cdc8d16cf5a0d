/** @returns the known name that a misspelt one most likely means: one edit away, or continued by the other */
export function nearestName(given: string, known: Iterable<string>): string | undefined {
  const letters = lettersOf(given);
  const wanted = new Set(withOneEdit(letters));
  const isNear = (name: string): boolean => {
    const theirs = lettersOf(name);
    return (
      Math.abs(theirs.length - letters.length) <= 1 && withOneEdit(theirs).some((form) => wanted.has(form))
    );
  };
  const names = [...known];
  return (
    names.find(isNear) ??
    names.find((name) => given.length >= minBeginning && (name.startsWith(given) || given.startsWith(name)))
  );
}

/** A shorter beginning of a name may be any word. */
const minBeginning = 4;

const lettersOf = (name: string): string =>
  name
    .slice(0, 64)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');

/** The letters, and those without any one of them: two names of one edit have a form in common. */
function withOneEdit(letters: string): string[] {
  const without = Array.from(letters, (_, n) => letters.slice(0, n) + letters.slice(n + 1));
  return letters.length < minBeginning ? [letters] : [letters, ...without];
}
