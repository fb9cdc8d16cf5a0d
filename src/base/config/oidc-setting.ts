import { readFileSync } from 'node:fs';
import { isObject } from '../common/json.js';
import { baseUrl, ConfigurationError, type Kind } from './setting.js';

/** An issuer whose access tokens open this server. */
export interface OidcIssuer {
  /** As the claim `iss` has it, byte for byte. */
  readonly issuer: string;
  /** A token is for this server if its claim `aud` has one of them. */
  readonly audiences: readonly string[];
  /** The address of the issuer's keys; absent: its metadata names it. */
  readonly jwksUri?: string;
  /** This server's client at the issuer, which may ask about tokens that are no JWT. */
  readonly introspection?: { readonly clientId: string; readonly clientSecret: string };
  /** The first access rules, as `PUT /api/v1/access-rules` takes them. */
  readonly rules?: readonly object[];
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

function isUrl(value: unknown): boolean {
  try {
    return isText(value) && baseUrl.read(value) === value;
  } catch {
    return false;
  }
}

const isListOf = (value: unknown, isItem: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(isItem);

const members: Readonly<Record<keyof OidcIssuer, readonly [must: string, is: (value: unknown) => boolean]>> =
  {
    issuer: ['an http or https URL without query', isUrl],
    audiences: ['a list of texts', (value) => isListOf(value, isText)],
    jwksUri: ['an http or https URL without query', (value) => value === undefined || isUrl(value)],
    introspection: [
      'an object with clientId and clientSecret',
      (value) =>
        value === undefined ||
        (isObject(value) && isText(value['clientId']) && isText(value['clientSecret'])),
    ],
    rules: ['a list of rules', (value) => value === undefined || isListOf(value, isObject)],
  };

/** @throws ConfigurationError that names the wrong member, and quotes no value: one may be a secret */
function issuerIn(entry: unknown, index: number): OidcIssuer {
  const wrong = (why: string): never => {
    throw new ConfigurationError(`entry ${index + 1}: ${why}`);
  };
  if (!isObject(entry)) return wrong('must be an object');
  const unknown = Object.keys(entry).find((name) => !(name in members));
  if (unknown !== undefined) wrong(`${unknown} is not a known member`);
  for (const [name, [must, is]] of Object.entries(members))
    if (!is(entry[name])) wrong(`${name} must be ${must}`);
  return entry as unknown as OidcIssuer;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigurationError(`cannot be read from this file (${(error as NodeJS.ErrnoException).code})`);
  }
}

export const oidcIssuers: Kind<readonly OidcIssuer[]> = {
  accepts: 'a JSON list of issuers, or the path of a file with it',
  read: (given) => {
    if (given === '') return [];
    let entries: unknown;
    try {
      entries = JSON.parse(given.startsWith('[') ? given : textOf(given));
    } catch (error) {
      throw error instanceof ConfigurationError ? error : new ConfigurationError('must be valid JSON');
    }
    if (!Array.isArray(entries)) throw new ConfigurationError('must be a list of issuers');
    const issuers = entries.map(issuerIn);
    if (new Set(issuers.map(({ issuer }) => issuer)).size < issuers.length)
      throw new ConfigurationError('has one issuer twice');
    return issuers;
  },
};
