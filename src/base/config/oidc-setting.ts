import { readFileSync } from 'node:fs';
import { isObject } from '../common/json.js';
import { type Kind, kind } from './setting.js';

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

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const isUrl = (value: unknown): boolean =>
  isText(value) && /^https?:$/.test(URL.parse(String(value))?.protocol ?? '');

function isFacade(entry: unknown): boolean {
  if (!isObject(entry)) return false;
  // Absent members get a valid value.
  const { clientId, clientSecret = clientId, redirects = [], scope = clientId, ...others } = entry;
  const areUrls =
    Array.isArray(redirects) &&
    redirects.every(isText) &&
    redirects.every((each) => URL.canParse(String(each)));
  return [clientId, clientSecret, scope].every(isText) && areUrls && Object.keys(others).length === 0;
}

function isConsole(client: unknown): boolean {
  if (!isObject(client)) return false;
  // Absent members get a valid value.
  const { clientId, clientSecret = clientId, scopes = [], name = clientId, ...others } = client;
  const isKnown = Object.keys(others).length === 0 && Array.isArray(scopes) && scopes.every(isText);
  return [clientId, clientSecret, name].every(isText) && isKnown;
}

/** Whether an entry is a valid issuer without unknown members. */
function isIssuer(entry: unknown): entry is OidcIssuer {
  if (!isObject(entry)) return false;
  const { issuer, audiences, jwksUri = issuer, introspection, rules = [], ...more } = entry;
  const { facade, console: client, ...others } = more;
  const isClient =
    introspection === undefined ||
    (isObject(introspection) && isText(introspection['clientId']) && isText(introspection['clientSecret']));
  const hasAudiences = Array.isArray(audiences) && audiences.length > 0 && audiences.every(isText);
  const isKnown = Object.keys(others).length === 0 && Array.isArray(rules) && rules.every(isObject);
  return (
    (facade === undefined || isFacade(facade)) &&
    isUrl(issuer) &&
    isUrl(jwksUri) &&
    hasAudiences &&
    isClient &&
    isKnown &&
    (client === undefined || isConsole(client))
  );
}

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
