import { resolve } from 'node:path';
import { projectRoot } from '../common/project.js';
import { StartError } from '../common/start-error.js';

/** Thrown for invalid variables. The message names all of them. */
export class ConfigurationError extends StartError {
  override readonly name = 'ConfigurationError';
}

/** A kind of value: which texts are valid, and how they are parsed. */
export interface Kind<T> {
  /** The text after "must be"; docs/configuration.md shows it, too. */
  readonly accepts: string;
  /** Parses a text. @throws ConfigurationError with the reason, without the value, which may be a secret */
  read(text: string): T;
}

/** One environment variable. */
export class Setting<T> {
  constructor(
    readonly variable: string,
    readonly kind: Kind<T>,
    /** Default as text; undefined if there is none. */
    readonly fallback: string | undefined,
    /** Description: one line of Markdown. */
    readonly meaning: string,
  ) {}
}

/** The values of a tree of settings. Other members are constants. */
export type Values<Tree> =
  Tree extends Setting<infer T>
    ? T
    : Tree extends object
      ? { readonly [Name in keyof Tree]: Values<Tree[Name]> }
      : Tree;

/** A setting that lacks its description. */
interface Unexplained<T> {
  means(meaning: string): Setting<T>;
}
type Fallback = string | number | boolean;

/** Declares a setting. Without a fallback its value is undefined unless the variable is set. */
export function setting<T>(variable: string, kind: Kind<T>): Unexplained<T | undefined>;
export function setting<T>(variable: string, kind: Kind<T>, fallback: Fallback): Unexplained<T>;
export function setting<T>(variable: string, kind: Kind<T>, fallback?: Fallback): Unexplained<T> {
  return { means: (meaning) => new Setting(variable, kind, fallback?.toString(), meaning) };
}

/** Defines a kind of value. @param read returns undefined for an invalid text */
export function kind<T>(accepts: string, read: (text: string) => T | undefined): Kind<T> {
  return {
    accepts,
    read: (text) => {
      const value = read(text);
      if (value === undefined) throw new ConfigurationError(`must be ${accepts}`);
      return value;
    },
  };
}

/** A whole number; both bounds are inclusive. */
export const whole = (min: number, max: number): Kind<number> =>
  kind(`a whole number from ${min} to ${max}`, (text) => {
    const value = Number(text);
    return Number.isInteger(value) && value >= min && value <= max ? value : undefined;
  });

/** A number; both bounds are inclusive. */
export const number = (min: number, max: number): Kind<number> =>
  kind(`a number from ${min} to ${max}`, (text) => {
    const value = Number(text);
    return value >= min && value <= max ? value : undefined;
  });

/** A number of hours, which is read as milliseconds. */
export const hours: Kind<number> = kind(
  'hours, from 0.001 to 8760',
  (text) => number(0.001, 8_760).read(text) * 3_600_000,
);

/** One word of a list. */
export const oneOf = <const Word extends string>(...words: Word[]): Kind<Word> =>
  kind(words.map((word) => `\`${word}\``).join(' or '), (text) => words.find((word) => word === text));

/** Several words of a list. @throws ConfigurationError that lists the valid words */
export const someOf = <const Word extends string>(...words: Word[]): Kind<ReadonlySet<Word>> => ({
  accepts: `some of ${words.map((word) => `\`${word}\``).join(', ')}, comma-separated`,
  read: (value) => {
    const unknown = list.read(value).filter((word) => !(words as string[]).includes(word));
    if (unknown.length > 0)
      throw new ConfigurationError(`${unknown.join(', ')}: there are ${words.join(', ')}`);
    return new Set(list.read(value) as Word[]);
  },
});

export const flag: Kind<boolean> = kind('`true` or `false`', (text) =>
  text === 'true' || text === 'false' ? text === 'true' : undefined,
);

export const text: Kind<string> = kind('text', (value) => value);

export const secret: Kind<string> = kind('text of 16 characters or more', (value) =>
  value.length < 16 ? undefined : value,
);

export const secretKeys: Kind<Buffer[]> = kind(
  'keys of 32 bytes each, hex or base64, comma-separated (`openssl rand -base64 32`)',
  secretKeysIn,
);

export const list: Kind<string[]> = kind('a comma-separated list', (value) =>
  value
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean),
);

/** A folder; relative paths start at the folder of Toolkeeper's npm package. */
export const folder: Kind<string> = kind('a folder', (path) => resolve(projectRoot(), path));

/** A list of paths; relative ones start at the folder of Toolkeeper's npm package. */
export const paths: Kind<string[]> = kind('paths, separated by commas or colons', (value) =>
  list.read(value.replaceAll(':', ',')).map((path) => resolve(projectRoot(), path)),
);

/** Whether a text is a URL with a host and one of these protocols. */
function isUrl(value: string, protocols: readonly string[]): boolean {
  const url = URL.parse(value);
  return url !== null && protocols.includes(url.protocol) && url.hostname !== '';
}
export const isWebUrl = (value: string): boolean => isUrl(value, ['http:', 'https:']);

export const databaseUrl: Kind<string> = kind('a `postgres://` or `postgresql://` URL', (value) =>
  isUrl(value, ['postgres:', 'postgresql:']) ? value : undefined,
);

export const webUrl: Kind<string> = kind('an http or https URL', (value) =>
  isWebUrl(value) ? value : undefined,
);

export const webUrls: Kind<string[]> = kind('http or https URLs, comma-separated', (value) => {
  const urls = list.read(value);
  return urls.every(isWebUrl) ? urls : undefined;
});

/** A URL without a password, which would not be sent: the token has its own variable. */
export const baseUrl: Kind<string> = kind('an http or https URL without password and query', (value) => {
  if (!isWebUrl(value)) return undefined;
  const { username, password, search, hash } = new URL(value);
  return username + password + search + hash === '' ? value : undefined;
});

/** Bytes of a key of AES-256. */
const keyBytes = 32;

/**
 * Parses keys of SECRETS_KEY or of the key file: hex or base64, separated by commas or white space.
 * @returns the keys in their order, 32 bytes each; undefined if there is none, or one is invalid
 */
export function secretKeysIn(text: string): Buffer[] | undefined {
  const keys = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(decode);
  return keys.length > 0 && keys.every((key) => key?.length === keyBytes) ? (keys as Buffer[]) : undefined;
}

/** Decodes a key; undefined if it is neither hex nor base64 of 32 bytes. */
function decode(word: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(word)) return Buffer.from(word, 'hex');
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(word) ? Buffer.from(word, 'base64') : undefined;
}
