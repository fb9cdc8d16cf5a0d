import type { ErrorObject } from 'ajv';
import type { FieldProblem } from './errors.js';
import { sanitisedText } from './pg-text.js';

/** Max characters of a list of allowed values in a message. */
const maxListLength = 500;
/** Max problems in one answer: a large request can have 100,000. */
export const maxProblems = 20;

/** An error of Ajv as a problem of a field. Its sentence follows the field's name. */
export function asFieldProblem(error: ErrorObject): FieldProblem {
  const params = (error.params ?? {}) as { missingProperty?: string; additionalProperty?: string };
  const property = params.missingProperty ?? params.additionalProperty;
  const member = property === undefined ? '' : `/${escapePointer(property)}`;
  return { pointer: error.instancePath + member, detail: sentenceOf(error) };
}

/** The sentence for an error, without the field's name. */
function sentenceOf({ keyword, message, params, data }: ErrorObject): string {
  if (keyword === 'required') return 'is required';
  if (keyword === 'additionalProperties') return 'is not a known field';
  if (keyword === 'type' && data === null) return `${message}, not null`;
  if (keyword === 'type' && data !== undefined) return `${message}, but is ${kindOf(data)}`;
  const { limit, pattern, allowedValues } = (params ?? {}) as Readonly<Record<string, unknown>>;
  return inWords(keyword, limit ?? pattern ?? allowedValues) ?? message ?? 'is not valid';
}

function kindOf(data: unknown): string {
  if (Array.isArray(data)) return 'an array';
  return typeof data === 'object' ? 'an object' : `a ${typeof data}`;
}

/** Pattern of text that is not blank. */
const notBlank = '\\S';
/** Sentences for keywords; # is the limit. */
const sentences: Readonly<Record<string, string>> = {
  minimum: 'must be at least #',
  maximum: 'must be at most #',
  exclusiveMinimum: 'must be more than #',
  exclusiveMaximum: 'must be less than #',
  minLength: 'must have at least # characters',
  maxLength: 'must have at most # characters',
  minItems: 'must have at least # items',
  maxItems: 'must have at most # items',
  uniqueItems: 'must not have equal items',
  maxProperties: 'must have at most # members',
  pattern: 'must match the pattern #',
  enum: 'must be equal to one of the allowed values: #',
};

/** A keyword's rule as a sentence; undefined for keywords that Ajv explains well. */
export function inWords(keyword: string, limit: unknown): string | undefined {
  if (keyword === 'minLength' && limit === 1) return 'must not be empty';
  if (keyword === 'pattern' && limit === notBlank) return 'must not be blank';
  const text = Array.isArray(limit) ? listOf(limit) : String(limit);
  return sentences[keyword]?.replace('#', () => text);
}

function listOf(values: readonly unknown[]): string {
  const text = values.map((value) => JSON.stringify(value)).join(', ');
  return text.length > maxListLength ? `${text.slice(0, maxListLength)}…` : text;
}

/** Escapes a name for a JSON pointer (RFC 6901). */
export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** The name that `escapePointer` has escaped. */
export const unescapePointer = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~');

/** Problems of texts that PostgreSQL cannot store, at any depth. */
export function storageProblems(value: unknown, pointer: string): FieldProblem[] {
  if (typeof value === 'string') return isStorable(value) ? [] : [{ pointer, detail: notStorable }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const at = `${pointer}/${escapePointer(name)}`;
    return isStorable(name) ? storageProblems(member, at) : [{ pointer, detail: notStorable }];
  });
}

const isStorable = (text: string): boolean => sanitisedText(text) === text && text.isWellFormed();
const notStorable = 'must not hold NUL characters or halves of surrogate pairs';
