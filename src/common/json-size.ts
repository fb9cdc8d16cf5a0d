import { writableLevels } from './json-depth.js';

/** Limits of a JSON text: reading, checking and writing it keeps the event loop busy for each of its parts. */
export interface JsonLimits {
  readonly levels: number;
  /** Objects and lists. */
  readonly holders: number;
  readonly values: number;
}

const ofCallers: JsonLimits = { levels: writableLevels, holders: 40_000, values: 200_000 };
const maxNames = 10_000;
/** A name and its value take five bytes: a shorter text is within all limits of callers. */
export const alwaysFits = 5 * maxNames;

/** @returns the limit that a caller's JSON text exceeds, in words; only names need the parsed value */
export const excessOfCaller = (text: string): string | undefined => excessOf(text, ofCallers);

/** Names that differ cost the engine a table each time they are walked; rows with the same names do not. */
export function excessOfNames(json: unknown): string | undefined {
  const names = new Set<string>();
  const open = [json];
  const add = (value: unknown): void => {
    if (typeof value === 'object' && value !== null) open.push(value);
  };
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (Array.isArray(part)) part.forEach(add);
    else
      for (const name in part as object) {
        if (names.add(name).size > maxNames) return `has more than ${maxNames} different member names`;
        add((part as Record<string, unknown>)[name]);
      }
  }
  return undefined;
}

/** Counts brackets and commas outside of strings, before a text is parsed. @returns the limit that it exceeds, in words */
export function excessOf(text: string, { levels, holders, values }: JsonLimits): string | undefined {
  let [depth, held, separators] = [0, 0, 0];
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === quote) {
      at = endOfString(text, at);
      if (at === -1) break;
    } else if (char === comma) {
      if (++separators > values) return `has more than ${values} values`;
    } else if (char === brace.open || char === bracket.open) {
      if (++depth > levels) return `is nested deeper than ${levels} levels`;
      if (++held > holders) return `has more than ${holders} objects and lists`;
    } else if (char === brace.close || char === bracket.close) depth--;
  }
  return undefined;
}

export const brace = { open: 123, close: 125 };
export const bracket = { open: 91, close: 93 };
export const quote = 34;
const comma = 44;
const backslash = 92;

/** Index of the quote that closes the string opened at `from`, or -1. */
export function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === quote) return at;
    if (char === backslash) at++;
  }
  return -1;
}
