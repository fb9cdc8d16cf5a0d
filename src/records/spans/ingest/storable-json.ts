import { maxAttributes, maxDepth, tooDeep } from './incoming-span.js';

// Max characters: of one attribute's JSON, of the JSON of all attributes of a span, of an attribute's name.
const maxAttributeLength = 262_144;
const maxSpanLength = 1_048_576;
const maxNameLength = 512;

/** The text as PostgreSQL can store it: without NUL and halves of surrogate pairs. */
export function cleanText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\uFFFD') : whole;
}

/** The beginning of a text as PostgreSQL can store it. */
export function cleanName(text: string, maxLength: number): string {
  return cleanText(text.length > maxLength ? text.slice(0, maxLength) : text);
}

/**
 * The attributes as JSON that a column of type jsonb accepts. Long values are cut, deep ones replaced, each with a note in
 * the text; numbers that JSON lacks become text. Attributes beyond the limits are left out and counted in `toolkeeper.cut`.
 * @param leftOut number of attributes that the reader of the batch left out
 */
export function storableAttributes(attributes: Readonly<Record<string, unknown>>, leftOut = 0): string {
  const members: string[] = [];
  let length = 0;
  let omitted = leftOut;
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined) continue;
    const json = cut(JSON.stringify(clean(value, 1)), maxAttributeLength);
    if (members.length >= maxAttributes || length + json.length > maxSpanLength) {
      omitted += 1;
      continue;
    }
    length += json.length;
    members.push(`${JSON.stringify(cleanName(name, maxNameLength))}:${json}`);
  }
  if (omitted > 0) members.push(`"toolkeeper.cut":"${omitted} attributes more than a span may have"`);
  return `{${members.join(',')}}`;
}

/** Cuts long JSON. The result is a text in JSON: the beginning of the text that it was, or of its JSON, and a note. */
function cut(json: string, maxLength: number): string {
  if (json.length <= maxLength) return json;
  const text = json.startsWith('"') ? (JSON.parse(json) as string) : json;
  // Escapes may make the JSON of a text several times as long as the text.
  for (let length = maxLength - maxNoteLength; ; length = Math.floor(length / 2)) {
    const beginning = cleanText(text.slice(0, length));
    const shorter = JSON.stringify(`${beginning} [cut: ${text.length - beginning.length} characters more]`);
    if (shorter.length <= maxLength) return shorter;
  }
}

/** Characters for the note about cut characters. */
const maxNoteLength = 64;

/** The value with storable texts, names and numbers, and without levels deeper than the limit. */
function clean(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value !== 'object' || value === null) return value ?? null;
  if (depth > maxDepth) return tooDeep;
  if (Array.isArray(value)) return value.map((member) => clean(member, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [cleanName(name, maxNameLength), clean(member, depth + 1)]),
  );
}
