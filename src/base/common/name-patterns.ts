/** A name, or a prefix of names with `*` at its end. */
export type NamePattern = string;

/** The pattern without its `*`. */
export const stemOf = (pattern: NamePattern): string => pattern.replace(/\*$/, '');

/** Whether a pattern matches a name. */
export const covers = (pattern: NamePattern, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(stemOf(pattern)) : name === pattern;

/** Whether one of the patterns matches a name. */
export const isOneOf = (patterns: readonly NamePattern[], name: string): boolean =>
  patterns.some((pattern) => covers(pattern, name));
