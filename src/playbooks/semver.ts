import { compare, valid } from 'semver';

/** Longest version that is stored. */
const maxVersionLength = 64;

/** @returns whether the text is `v?MAJOR[.MINOR[.PATCH]][-pre]` */
export const isVersion = (text: string): boolean => wholeOf(text) !== null;

/**
 * Semantic order; `v1.2` and `1.2.0` are equal.
 * @returns negative, 0 or positive
 */
export function compareVersions(left: string, right: string): number {
  return compare(wholeOf(left) ?? left, wholeOf(right) ?? right);
}

/** The version with all three numbers; null: it is none. Build metadata are not wanted: they order nothing. */
function wholeOf(text: string): string | null {
  const [, major, minor = '0', patch = '0', pre = ''] =
    /^v?(\d+)(?:\.(\d+)(?:\.(\d+))?)?(-[^+]+)?$/.exec(text) ?? [];
  if (major === undefined || text.length > maxVersionLength) return null;
  return valid(`${major}.${minor}.${patch}${pre}`);
}
