import { readFileSync } from 'node:fs';
import { isObject } from '../common/json.js';
import { isWebUrl, type Kind, kind } from './setting.js';

/** Sign-in of agents through this server, with one client at an issuer that cannot register clients or accept `resource`. */
export interface Facade {
  readonly clientId: string;
  readonly clientSecret?: string;
  /** Exact redirect URIs of agents besides loopback ones. */
  readonly redirects?: readonly string[];
  /** Scope to request from the issuer instead of the agent's. */
  readonly scope?: string;
}

/** An issuer whose access tokens this server accepts. */
export interface OidcIssuer {
  /** The exact value of the claim `iss`. */
  readonly issuer: string;
  /** Values of the claim `aud`, of which a token must have one. */
  readonly audiences: readonly string[];
  /** URL of the issuer's keys. Absent: that of its metadata. */
  readonly jwksUri?: string;
  /** This server's client at the issuer, for the introspection of tokens that are no JWT. */
  readonly introspection?: { readonly clientId: string; readonly clientSecret: string };
  readonly facade?: Facade;
  readonly console?: ConsoleClient;
  /** Initial access rules, in the form of `PUT /api/v1/access-rules`. */
  readonly rules?: readonly object[];
}

/** This server's client at an issuer, with which people sign in to the console. */
export interface ConsoleClient {
  readonly clientId: string;
  /** Absent: a public client. */
  readonly clientSecret?: string;
  /** Scopes to request in addition to `openid`; absent: `profile email`. */
  readonly scopes?: readonly string[];
  /** The provider's name on the sign-in page; absent: the host of the issuer. */
  readonly name?: string;
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string' && value !== '';
const isUrl: Check = (value) => typeof value === 'string' && isWebUrl(value);
const isRedirect: Check = (value) => isText(value) && URL.canParse(String(value));
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
/** A check for objects whose members are all checked, and that have no others. */
const objectOf =
  (members: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isObject(value) &&
    Object.keys(value).every((name) => Object.hasOwn(members, name)) &&
    Object.entries(members).every(([name, check]) => check(value[name]));

/** Members of this server's clients at an issuer. */
const client = { clientId: isText, clientSecret: optional(isText) };
const isFacade = objectOf({ ...client, redirects: optional(listOf(isRedirect)), scope: optional(isText) });
const isConsole = objectOf({ ...client, scopes: optional(listOf(isText)), name: optional(isText) });
const canIntrospect: Check = (value) =>
  isObject(value) && isText(value['clientId']) && isText(value['clientSecret']);

/** Whether an entry is a valid issuer without unknown members. */
const isIssuer = objectOf({
  issuer: isUrl,
  audiences: (value) => listOf(isText)(value) && (value as unknown[]).length > 0,
  jwksUri: optional(isUrl),
  introspection: optional(canIntrospect),
  facade: optional(isFacade),
  console: optional(isConsole),
  rules: optional(listOf(isObject)),
}) as (entry: unknown) => entry is OidcIssuer;

/** The issuers. Errors do not quote values, which may be secrets. */
export const oidcIssuers: Kind<readonly OidcIssuer[]> = kind(
  'a JSON list of objects with `issuer` (a URL), `audiences`, and perhaps `jwksUri`, `introspection`, `facade` (of one issuer), `console` and `rules`, or the path of a file with it',
  (text) => {
    try {
      const entries: unknown = JSON.parse(text.startsWith('[') ? text : readFileSync(text, 'utf8'));
      if (!Array.isArray(entries) || !entries.every(isIssuer)) return undefined;
      // This server has one address for agents to sign in at.
      return entries.filter(({ facade }) => facade).length <= 1 ? entries : undefined;
    } catch {
      return undefined;
    }
  },
);
