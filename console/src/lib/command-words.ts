/** The words of a typed command. Quotes are the only shell syntax. */
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

/** Words as a command that can be typed. */
export const commandOf = (words: readonly string[]): string =>
  words
    .map((word) => (/^[^\s"'\\]+$/.test(word) ? word : `"${word.replaceAll(/(["\\])/g, '\\$1')}"`))
    .join(' ');
