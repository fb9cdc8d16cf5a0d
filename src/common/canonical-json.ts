import { hash } from 'node:crypto';

/** JSON with sorted keys and no white space: equal values give equal text. */
export const canonicalJson = (value: unknown): string => canonicalForm(value).json;

/** The same; `asGiven`: the value's own order is the canonical one. */
export function canonicalForm(value: unknown): { readonly json: string; readonly asGiven: boolean } {
  if (hasSortedKeys(value)) return { json: JSON.stringify(value) ?? 'null', asGiven: true };
  // A copy and one native serialisation take a third of the walk.
  return { json: keepsOrder(value) ? JSON.stringify(inOrder(value)) : sortedJson(value), asGiven: false };
}

function hasSortedKeys(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.every(hasSortedKeys);
  let last: string | undefined;
  for (const key of Object.keys(value)) {
    if (last !== undefined && key < last) return false;
    if (!hasSortedKeys((value as Record<string, unknown>)[key])) return false;
    last = key;
  }
  return true;
}

/** Objects have keys of digits first, and `__proto__` is none of theirs, in whatever order they are made. */
function keepsOrder(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.every(keepsOrder);
  return Object.entries(value).every(([key, field]) => !/^(\d|__proto__$)/.test(key) && keepsOrder(field));
}

function inOrder(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(inOrder);
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value).sort()) copy[key] = inOrder((value as Record<string, unknown>)[key]);
  return copy;
}

function sortedJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(',')}]`;
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => `${JSON.stringify(key)}:${sortedJson(field)}`);
  return `{${fields.join(',')}}`;
}

export const sha256 = (text: string | Buffer): string => hash('sha256', text);
