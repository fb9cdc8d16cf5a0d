import { readExactly } from './exact-json.js';

/** @returns the members of an object, its numbers as they are written; undefined for a text that is none */
export function jsonObjectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = readExactly(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
