import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/** Spaces between the columns of a table. */
const columnGap = 2;

/** Prints for a command: JSON for programs, or lines for people, coloured on a terminal only. */
export class Output {
  constructor(readonly json: boolean) {}

  /** Prints the answer: as JSON with --json, else the text. */
  answer(value: unknown, text: () => string): void {
    this.line(this.json ? JSON.stringify(value, null, 2) : text());
  }

  /** Prints to stdout. */
  line(text: string): void {
    process.stdout.write(`${escapeControls(text)}\n`);
  }

  /** Prints a remark for people, to stderr. */
  note(text: string): void {
    process.stderr.write(`${escapeControls(text)}\n`);
  }

  /** A text in a style, if stdout is a terminal that shows it. */
  styled(style: Style, text: string): string {
    return styleText(style, text, { stream: process.stdout });
  }

  /** A state, such as `active`, in its colour; other words unchanged. */
  state(word: string): string {
    const style = stateStyles.get(word);
    return style ? this.styled(style, word) : word;
  }

  /** A table. Columns are as wide as their widest cell; the last one is cut off at the edge of a terminal. */
  table(head: readonly string[], rows: readonly (readonly string[])[]): string {
    const widths = head.map((title, column) =>
      Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
    );
    const terminalWidth = process.stdout.isTTY ? process.stdout.columns : Infinity;
    const lastColumnAt = widths.slice(0, -1).reduce((sum, width) => sum + width + columnGap, 0);
    const lastWidth = Math.max(1, terminalWidth - lastColumnAt);
    const padded = (cell: string, column: number): string => cell.padEnd((widths[column] ?? 0) + columnGap);
    const cut = (cell: string): string =>
      cell.length <= lastWidth ? cell : `${cell.slice(0, lastWidth - 1)}…`;
    const title = head.map((cell, column) => (column < head.length - 1 ? padded(cell, column) : cut(cell)));
    const lines = rows.map((row) =>
      row.map((cell, column) =>
        column < row.length - 1 ? padded(cell, column).replace(cell, this.state(cell)) : cut(cell),
      ),
    );
    return [this.styled('bold', title.join('')), ...lines.map((cells) => cells.join(''))].join('\n');
  }

  /** One `name: value` per line, without undefined values. */
  members(members: Readonly<Record<string, string | number | undefined>>): string {
    const entries = Object.entries(members).filter(([, value]) => value !== undefined);
    const width = Math.max(...entries.map(([name]) => name.length)) + 2;
    return entries
      .map(([name, value]) => `${`${name}:`.padEnd(width)}${this.state(String(value))}`)
      .join('\n');
  }
}

/** Colours of the words for states. */
const stateStyles: ReadonlyMap<string, Style> = new Map<string, Style>([
  ...(['active', 'healthy', 'success', 'closed', 'ok'] as const).map((word) => [word, 'green'] as const),
  ...(['inactive', 'degraded', 'half-open', 'unknown', 'recovering', 'note'] as const).map(
    (word) => [word, 'yellow'] as const,
  ),
  ...(['error', 'unhealthy', 'timeout', 'open', 'missing', 'held', 'failing now'] as const).map(
    (word) => [word, 'red'] as const,
  ),
]);

/** Escapes control characters, which tools may have written, except line breaks, tabs and colours. */
export const escapeControls = (text: string): string =>
  text.replaceAll(/\p{Cc}(?:\[\d{1,2}m)?/gu, (match) => {
    const isColour = match.length > 1 && match.startsWith('\x1b');
    if (isColour || match === '\n' || match === '\t') return match;
    return `\\x${match.charCodeAt(0).toString(16).padStart(2, '0')}${match.slice(1)}`;
  });

/** Exit codes of commands. */
export const exit = {
  ok: 0,
  /** A call failed or was refused, a tool is not healthy, or something is missing. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** No server answers. */
  unreachable: 3,
} as const;

type ExitCode = (typeof exit)[keyof typeof exit];

/** An error that ends the command with a sentence on stderr. */
export class CliError extends Error {
  override readonly name = 'CliError';

  constructor(
    message: string,
    readonly code: ExitCode = exit.failed,
    /** The object that --json prints instead of the sentence, such as the server's problem. */
    readonly body: unknown = { detail: message },
  ) {
    super(message);
  }
}

/** The code of the problem with which the server answered, such as `not_found`. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof CliError ? (error.body as { readonly code?: string } | undefined)?.code : undefined;

/** The same error with a hint in its message. */
export const withHint = ({ message, code, body }: CliError, hint: string): CliError =>
  new CliError(`${message}\n  ${hint}`, code, body);
