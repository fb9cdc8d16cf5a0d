interface ParsedVersion {
  /** Major, minor, patch. */
  readonly numbers: readonly [number, number, number];
  readonly prerelease: readonly string[];
}

const number = '(0|[1-9]\\d{0,8})';
const identifier = '(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)';
const pattern = new RegExp(
  `^v?${number}(?:\\.${number}(?:\\.${number})?)?(?:-(${identifier}(?:\\.${identifier})*))?$`,
);

/** Longest version that is stored. */
export const maxVersionLength = 64;

/** @returns whether the text is `v?MAJOR[.MINOR[.PATCH]][-pre]` (DD-STORAGE-008) */
export const isVersion = (text: string): boolean => parse(text) !== undefined;

/**
 * Semantic order; `v1.2` and `1.2.0` are equal.
 * @returns negative, 0 or positive
 */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [parseKnown(left), parseKnown(right)];
  for (const part of [0, 1, 2] as const) {
    if (a.numbers[part] !== b.numbers[part]) return a.numbers[part] - b.numbers[part];
  }
  return comparePrereleases(a.prerelease, b.prerelease);
}

function parse(text: string): ParsedVersion | undefined {
  const match = text.length <= maxVersionLength ? pattern.exec(text) : null;
  if (!match) return undefined;
  const [, major, minor, patch, prerelease] = match;
  return {
    numbers: [Number(major), Number(minor ?? 0), Number(patch ?? 0)],
    prerelease: prerelease?.split('.') ?? [],
  };
}

function parseKnown(text: string): ParsedVersion {
  const parsed = parse(text);
  if (!parsed) throw new Error(`${text} is not a version`);
  return parsed;
}

/** A prerelease comes before its release; numbers come before words. */
function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return b.length - a.length;
  for (const [at, left] of a.entries()) {
    const right = b[at];
    if (right === undefined) return 1;
    const order = compareIdentifiers(left, right);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareIdentifiers(a: string, b: string): number {
  const [aIsNumber, bIsNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (aIsNumber !== bIsNumber) return aIsNumber ? -1 : 1;
  // Numbers have no leading zeros here, so the longer one is the greater one, however long it is.
  if (aIsNumber && a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
