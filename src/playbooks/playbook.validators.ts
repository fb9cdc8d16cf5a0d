import { applyDecorators } from '@nestjs/common';
import { IsString, MaxLength, ValidateBy } from 'class-validator';
import { isDeeperThan } from '../common/json-depth.js';
import { isVersion } from './semver.js';

const maxContentDepth = 32;
const maxLabels = 32;
const maxValues = 20;
const labelKey = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/;
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** PostgreSQL stores neither NUL nor half a surrogate pair. */
const isStorableText = (text: string): boolean => !text.includes('\0') && !/\p{Surrogate}/u.test(text);

function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, field]) => isStorableText(key) && isStorable(field));
}

export const isPlaybookId = (value: unknown): value is string =>
  typeof value === 'string' && idPattern.test(value);

function check(name: string, validate: (value: unknown) => boolean, message: string): PropertyDecorator {
  return ValidateBy({ name, validator: { validate, defaultMessage: () => `$property ${message}` } });
}

/** Text with something in it. */
export function Text(maxLength: number): PropertyDecorator {
  return applyDecorators(
    IsString(),
    MaxLength(maxLength),
    check(
      'text',
      (value) => typeof value === 'string' && value.trim() !== '' && isStorableText(value),
      'must hold text, without NUL characters',
    ),
  );
}

/** A list of phrases such as signals and aliases. */
export function Phrases(): PropertyDecorator {
  const isPhrase = (value: unknown): boolean =>
    typeof value === 'string' && value.trim() !== '' && value.length <= 200 && isStorableText(value);
  return check(
    'phrases',
    (value) => Array.isArray(value) && value.length <= 100 && value.every(isPhrase),
    'must be a list of at most 100 phrases of 1 to 200 characters',
  );
}

export function PlaybookId(): PropertyDecorator {
  return check('playbookId', isPlaybookId, 'must be 1 to 128 letters, digits, ".", "_" or "-"');
}

export function Version(): PropertyDecorator {
  return check(
    'version',
    (value) => typeof value === 'string' && isVersion(value),
    'must be a semantic version: v?MAJOR[.MINOR[.PATCH]][-pre]',
  );
}

/** Keys to one value or several; no two keys may differ in case only. */
export function Labels(): PropertyDecorator {
  return check('labels', areLabels, `must map at most ${maxLabels} keys to text or to a list of texts`);
}

function areLabels(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  const isValue = (each: unknown): boolean =>
    typeof each === 'string' && each.trim() !== '' && each.length <= 128 && isStorableText(each);
  const areValues = (each: unknown): boolean =>
    Array.isArray(each) && each.length > 0 && each.length <= maxValues && each.every(isValue);
  return (
    entries.length <= maxLabels &&
    entries.every(([key, each]) => labelKey.test(key) && (isValue(each) || areValues(each))) &&
    new Set(entries.map(([key]) => key.toLowerCase())).size === entries.length
  );
}

/** The procedure: an object, or text in whatever format its executor reads. */
export function Content(): PropertyDecorator {
  const isContent = (value: unknown): boolean => {
    if (typeof value === 'string') return value.trim() !== '' && isStorableText(value);
    return (
      typeof value === 'object' &&
      value !== null &&
      !isDeeperThan(value, maxContentDepth) &&
      isStorable(value)
    );
  };
  return check('content', isContent, `must be an object (at most ${maxContentDepth} levels deep) or text`);
}
