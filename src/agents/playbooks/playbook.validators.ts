import { isObject } from 'class-validator';
import { compare, valid } from 'semver';
import { isDeeperThan } from '../../base/common/json-depth.js';
import { Ruled } from '../../web/rest/dto.js';

const maxVersionLength = 64;
/** Max levels of a procedure. */
const maxContentDepth = 32;
const maxLabels = 32;
/** Max values of one label, and characters of a value. */
const maxLabelValues = 20;
const maxLabelValueLength = 128;
/** Max phrases of a list, and characters of a phrase. */
const maxPhrases = 100;
const maxPhraseLength = 200;
const labelKeyPattern = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/;
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Whether a text is `v?MAJOR[.MINOR[.PATCH]][-pre]`. */
export const isVersion = (text: string): boolean => fullVersion(text) !== null;

/** Compares by semantic versioning; `v1.2` and `1.2.0` are equal. @returns negative, 0 or positive */
export function compareVersions(left: string, right: string): number {
  return compare(fullVersion(left) ?? left, fullVersion(right) ?? right);
}

/** The version with three numbers; null if invalid. Build metadata are invalid, because they do not affect the order. */
function fullVersion(text: string): string | null {
  const [, major, minor = '0', patch = '0', pre = ''] =
    /^v?(\d+)(?:\.(\d+)(?:\.(\d+))?)?(-[^+]+)?$/.exec(text) ?? [];
  if (major === undefined || text.length > maxVersionLength) return null;
  return valid(`${major}.${minor}.${patch}${pre}`);
}

export const isPlaybookId = (value: unknown): value is string =>
  typeof value === 'string' && idPattern.test(value);

const isPhrase = (value: unknown): boolean =>
  typeof value === 'string' && value.trim() !== '' && value.length <= maxPhraseLength;

// Decorators of members of request bodies, each with its rule.

/** A list of phrases such as signals and aliases. */
export const Phrases = Ruled(
  `must be a list of at most ${maxPhrases} phrases of 1 to ${maxPhraseLength} characters`,
  (value) => Array.isArray(value) && value.length <= maxPhrases && value.every(isPhrase),
);

export const PlaybookId = Ruled('must be 1 to 128 letters, digits, ".", "_" or "-"', isPlaybookId);

export const Version = Ruled(
  'must be a semantic version, v?MAJOR[.MINOR[.PATCH]][-pre], as text: YAML reads 1.10 without quotes as the number 1.1',
  (value) => typeof value === 'string' && isVersion(value),
);

/** Labels: keys with one value or several. No two keys may differ in case only. */
export const Labels = Ruled(`must map at most ${maxLabels} keys to text or to a list of texts`, areLabels);

function areLabels(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  const isValue = (each: unknown): boolean =>
    typeof each === 'string' && each.trim() !== '' && each.length <= maxLabelValueLength;
  const areValues = (each: unknown): boolean =>
    Array.isArray(each) && each.length > 0 && each.length <= maxLabelValues && each.every(isValue);
  return (
    entries.length <= maxLabels &&
    entries.every(([key, each]) => labelKeyPattern.test(key) && (isValue(each) || areValues(each))) &&
    new Set(entries.map(([key]) => key.toLowerCase())).size === entries.length
  );
}

/** The procedure: an object, or text in the executor's format. */
export const Content = Ruled(`must be an object (at most ${maxContentDepth} levels deep) or text`, (value) =>
  typeof value === 'string' ? value.trim() !== '' : isObject(value) && !isDeeperThan(value, maxContentDepth),
);
