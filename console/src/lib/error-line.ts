/**
 * @param text what a program wrote when it failed: a traceback of Python, a stack of Node.js, a message of a shell
 * @param path of one of its files
 * @returns the line of the file in which it failed, from 1; undefined if the text names none
 */
export function errorLine(text: string, path: string): number | undefined {
  const name = path.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const lines = (pattern: string): number[] =>
    [...text.matchAll(new RegExp(pattern, 'gm'))].map(([, line]) => Number(line));
  const start = String.raw`(?:^|[\s"'(/])`;
  return (
    // Python and shells name the innermost place last, Node.js first.
    lines(`${start}${name}", line (\\d+)`).at(-1) ??
    lines(`${start}${name}: line (\\d+)`).at(-1) ??
    lines(`${start}${name}:(\\d+)`)[0]
  );
}
