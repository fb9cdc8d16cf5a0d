import type { FieldProblem } from '../common/errors.js';
import { escapePointer } from '../common/field-problems.js';

/** Usual JSON holds neither a run of 16 digits nor a huge exponent: it pays one search. */
const suspicious = /\d{16}|\d[eE]\+?\d{3}/;
/**
 * Strings, so that their digits are passed over, and numbers that a double may not hold. Each begins where no other one
 * can, so that a text of any kind is read once.
 */
const tokens =
  /"[^"\\]*(?:\\[^][^"\\]*)*(?:"|\\?$)|(?<![\d.eE+-])-?(?:\d{16,}(?![\d.eE])|\d+(?:\.\d+)?[eE]\+?\d{3,})/g;

/**
 * The first number of a JSON text that `JSON.parse` would change: a whole number beyond 2^53, or one beyond every
 * double. Digits behind a decimal point are rounded by everybody.
 * @param json well-formed or not; a malformed text is for `JSON.parse` to refuse
 */
export function alteredNumber(json: string): FieldProblem | undefined {
  if (!suspicious.test(json)) return undefined;
  for (const { 0: token, index } of json.matchAll(tokens)) {
    if (token.startsWith('"')) continue;
    const isWhole = !/[eE]/.test(token);
    if (isWhole ? String(Number(token)) === token : Number.isFinite(Number(token))) continue;
    const detail = isWhole
      ? 'is a whole number beyond 2^53: send it as text'
      : 'is a number beyond 1.8e308: send it as text';
    return { pointer: pointerTo(json, index, token.length), detail };
  }
  return undefined;
}

/** Parses the text with a mark in place of the number, and looks for the mark. */
function pointerTo(json: string, at: number, length: number): string {
  const mark = `number ${at}`;
  try {
    const marked = `${json.slice(0, at)}${JSON.stringify({ [mark]: mark })}${json.slice(at + length)}`;
    return pathOf(JSON.parse(marked), mark) ?? '';
  } catch {
    return '';
  }
}

function pathOf(value: unknown, mark: string): string | undefined {
  const open: [value: unknown, path: string][] = [[value, '']];
  for (let next = open.pop(); next; next = open.pop()) {
    const [part, path] = next;
    if (typeof part !== 'object' || part === null) continue;
    if ((part as Record<string, unknown>)[mark] === mark) return path;
    for (const [name, member] of Object.entries(part)) open.push([member, `${path}/${escapePointer(name)}`]);
  }
  return undefined;
}
