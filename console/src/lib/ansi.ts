import Anser from 'anser';

/** A piece of a line in one colour and weight. */
interface Piece {
  readonly text: string;
  /** Terminal colour such as `red` or `bright-red`; absent: the default. */
  readonly colour?: string;
  readonly isBold: boolean;
}

/** A line with ANSI colours; other escape sequences are removed. */
export function piecesOf(line: string): Piece[] {
  return Anser.ansiToJson(line, { use_classes: true, remove_empty: true, json: true }).map(
    ({ content, fg, decorations }) => ({
      text: withoutControls(content),
      ...(fg && { colour: fg.replace(/^ansi-/, '') }),
      isBold: decorations.includes('bold'),
    }),
  );
}

// Sequences that move the cursor or set a title, and characters that no screen shows.
const controls = new RegExp(
  String.raw`\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?|[\x00-\x08\x0b-\x1f\x7f]`,
  'g',
);

const withoutControls = (text: string): string => text.replace(controls, '');
