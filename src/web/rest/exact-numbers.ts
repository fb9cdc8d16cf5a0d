import type { FieldProblem } from '../../base/common/errors.js';
import { escapePointer } from '../../base/common/field-problems.js';

/** A quick check: most JSON contains neither 16 digits in a row nor a large exponent. */
const suspicious = /\d{16}|\d[eE]\+?\d{3}/;
/**
 * Matches strings, in order to skip their digits, and numbers that a double may not represent. The alternatives cannot
 * overlap, so that any text is scanned once.
 */
const tokens =
  /"[^"\\]*(?:\\[^][^"\\]*)*(?:"|\\?$)|(?<![\d.eE+-])-?(?:\d{16,}(?![\d.eE])|\d+(?:\.\d+)?[eE]\+?\d{3,})/g;

/**
 * The first number of a JSON text that `JSON.parse` would change: an integer beyond 2^53 or a number beyond the range of
 * a double. Rounding of decimal places is not reported, because all parsers do it.
 * @param json may be malformed; `JSON.parse` will reject it
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

/** Parses the text with a marker in place of the number and searches for the marker. */
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
