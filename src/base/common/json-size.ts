import { writableLevels } from './json-depth.js';

/** Limits of a JSON text, because parsing, checking and writing block the event loop. `structures`: objects and lists. */
export type JsonLimits = Readonly<Record<'levels' | 'structures' | 'values', number>>;

/** Limits of a caller's JSON. */
const callerLimits: JsonLimits = { levels: writableLevels, structures: 40_000, values: 200_000 };
/** Max distinct names of members. */
const maxNames = 10_000;
/** Size below which a text is within all limits of callers: a member takes at least five bytes. */
export const alwaysFits = 5 * maxNames;

/** The limit that a caller's JSON text exceeds, as text; undefined if none. */
export const excessOfCaller = (text: string): string | undefined => excessOf(text, callerLimits);

/** The limit of distinct names that a value exceeds, as text; undefined if none. V8 enumerates many distinct names slowly. */
export function excessOfNames(json: unknown): string | undefined {
  const names = new Set<string>();
  const open: object[] = typeof json === 'object' && json !== null ? [json] : [];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (!Array.isArray(part))
      for (const name in part)
        if (names.add(name).size > maxNames) return `has more than ${maxNames} different member names`;
    for (const member of Object.values<unknown>(part as Record<string, unknown>))
      if (typeof member === 'object' && member !== null) open.push(member);
  }
  return undefined;
}

/** The limit that a JSON text exceeds, as text; undefined if none. Counts brackets and commas, without parsing the text. */
export function excessOf(text: string, { levels, structures, values }: JsonLimits): string | undefined {
  let [depth, opened, separators] = [0, 0, 0];
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === quote) {
      at = endOfString(text, at);
      if (at === -1) break;
    } else if (char === comma) {
      if (++separators > values) return `has more than ${values} values`;
    } else if (char === brace.open || char === bracket.open) {
      if (++depth > levels) return `is nested deeper than ${levels} levels`;
      if (++opened > structures) return `has more than ${structures} objects and lists`;
    } else if (char === brace.close || char === bracket.close) depth--;
  }
  return undefined;
}

/** Characters of JSON by their codes. */
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
