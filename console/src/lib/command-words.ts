/** A command as it is typed, in its words; quotes keep words together, and nothing else of a shell is known. */
export function wordsOf(command: string): string[] {
  const words = command.match(/(?:[^\s"']|"(?:\\.|[^"\\])*"|'[^']*')+/g) ?? [];
  return words.map((word) =>
    word.replaceAll(
      /"((?:\\.|[^"\\])*)"|'([^']*)'/g,
      (_, double: string | undefined, single: string | undefined) =>
        double === undefined ? (single ?? '') : double.replaceAll(/\\(["\\])/g, '$1'),
    ),
  );
}

/** The same words as they could be typed. */
export const commandOf = (words: readonly string[]): string =>
  words
    .map((word) => (/^[^\s"'\\]+$/.test(word) ? word : `"${word.replaceAll(/(["\\])/g, '\\$1')}"`))
    .join(' ');
