/** Min letters of a misspelt name or of a beginning: a shorter one resembles too many words. */
const minLetters = 4;
/** Max characters of a name that are compared. */
const maxCompared = 64;

/**
 * The known name that a misspelt one most likely means: one that differs in a letter, or else one of which the given name is
 * the beginning, or the reverse. Undefined if there is none.
 */
export function nearestName(given: string, known: Iterable<string>): string | undefined {
  const letters = lettersOf(given);
  const forms = new Set(formsOf(letters));
  const isNear = (name: string): boolean => {
    const others = lettersOf(name);
    return Math.abs(others.length - letters.length) <= 1 && formsOf(others).some((form) => forms.has(form));
  };
  const names = [...known];
  return (
    names.find(isNear) ??
    names.find((name) => given.length >= minLetters && (name.startsWith(given) || given.startsWith(name)))
  );
}

/** The letters and digits of a name, in lower case. */
const lettersOf = (name: string): string =>
  name
    .slice(0, maxCompared)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');

/** The letters, and the letters without any one of them. Two names that differ in one letter have such a form in common. */
function formsOf(letters: string): string[] {
  if (letters.length < minLetters) return [letters];
  return [letters, ...Array.from(letters, (_, n) => letters.slice(0, n) + letters.slice(n + 1))];
}
