import { deepest, maxAttributes, tooDeep } from './incoming-span.js';

/** Longest JSON of one attribute, and of all attributes of a span, in characters. */
const maxAttributeLength = 262_144;
const maxSpanLength = 1_048_576;
const maxNameLength = 512;

/** Text that PostgreSQL stores: without NUL and halves of surrogate pairs. */
export function cleanText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\uFFFD') : whole;
}

/** The same, and not longer than that. */
export function cleanName(text: string, longest: number): string {
  return cleanText(text.length > longest ? text.slice(0, longest) : text);
}

/**
 * The attributes as JSON that jsonb takes whatever was sent: too long, too deep, too many and numbers that JSON has not are
 * cut or written as text, with a mark that says so.
 * @param leftOut how many were left out before
 */
export function storableAttributes(attributes: Readonly<Record<string, unknown>>, leftOut = 0): string {
  const members: string[] = [];
  let length = 0;
  let left = leftOut;
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined) continue;
    const json = cut(JSON.stringify(clean(value, 1)), maxAttributeLength);
    if (members.length >= maxAttributes || length + json.length > maxSpanLength) {
      left += 1;
      continue;
    }
    length += json.length;
    members.push(`${JSON.stringify(cleanName(name, maxNameLength))}:${json}`);
  }
  if (left > 0) members.push(`"toolkeeper.cut":"${left} attributes more than a span may have"`);
  return `{${members.join(',')}}`;
}

/** Text keeps its beginning; of anything else the beginning of its JSON is kept as text. */
function cut(json: string, longest: number): string {
  if (json.length <= longest) return json;
  const text = json.startsWith('"') ? (JSON.parse(json) as string) : json;
  // Escapes make a text longer in JSON.
  for (let length = longest - 64; ; length = Math.floor(length / 2)) {
    const kept = cleanText(text.slice(0, length));
    const shorter = JSON.stringify(`${kept} [cut: ${text.length - kept.length} characters more]`);
    if (shorter.length <= longest) return shorter;
  }
}

function clean(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value !== 'object' || value === null) return value ?? null;
  if (depth > deepest) return tooDeep;
  if (Array.isArray(value)) return value.map((member) => clean(member, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [cleanName(name, maxNameLength), clean(member, depth + 1)]),
  );
}
