import type { OidcIssuer } from '../../../base/config/oidc-setting.js';
import { type Scope, scopes } from '../../contract/principal.js';

export type Claims = Readonly<Record<string, unknown>>;

/** A token that its issuer vouches for. */
export interface Vouched {
  readonly claims: Claims;
  /** Of a JWT's header. */
  readonly typ?: string | undefined;
}

/** Tolerance between the clocks of issuer and server. */
const skewSeconds = 5;
export const maxTokenBytes = 16_384;
const maxSubject = 255;

/** Values of the claim `typ` of Keycloak's tokens that are not access tokens. */
const otherTypes = /^(id|refresh|offline|logout|serialized-id)$/i;
const idTokenClaims = ['nonce', 'at_hash', 'c_hash'];

const isText = (value: unknown): value is string => typeof value === 'string';
export const textsIn = (value: unknown): readonly string[] => [value].flat().filter(isText);

/** The scopes of this server that a token names: `scope`, or `scp` of Entra and Okta. */
export function scopesIn({ scope, scp }: Claims): readonly Scope[] {
  const named = new Set(textsIn(scope ?? scp).flatMap((text) => text.split(' ')));
  return scopes.filter((each) => named.has(each));
}

function otherKind({ claims, typ = 'JWT' }: Vouched): string | undefined {
  const { typ: kind, token_type: type = 'Bearer' } = claims;
  const name = typ.toLowerCase().replace(/^application\//, '');
  if (name !== 'at+jwt' && name !== 'jwt') return 'its header `typ` is not that of an access token';
  if ((isText(kind) && otherTypes.test(kind)) || !isText(type) || !/^bearer$/i.test(type))
    return 'it is another kind of token than an access token that is sent as Bearer';
  const mark = name === 'jwt' ? idTokenClaims.find((claim) => Object.hasOwn(claims, claim)) : undefined;
  if (mark !== undefined) return `it is an ID token (claim ${mark}): send the access token`;
  // Whoever shows it would have to prove that it has the client's key.
  return claims['cnf'] === undefined ? undefined : 'it is bound to a key of its client (claim cnf)';
}

/** The checks of a token that is vouched for, in order. Each returns what is wrong. */
export const tokenChecks: Readonly<
  Record<string, (vouched: Vouched, issuer: OidcIssuer, now: number) => string | undefined>
> = {
  type: otherKind,
  audience: ({ claims: { aud } }, { audiences }) =>
    textsIn(aud).some((each) => audiences.includes(each))
      ? undefined
      : `it is for another audience: \`aud\` must have ${audiences.join(' or ')}`,
  expiry: ({ claims: { exp } }, _issuer, now) => {
    if (typeof exp !== 'number' || !Number.isFinite(exp)) return 'it has no expiry (claim exp)';
    return exp + skewSeconds > now / 1_000 ? undefined : 'it has expired';
  },
  start: ({ claims: { nbf } }, _issuer, now) => {
    if (nbf === undefined || (typeof nbf === 'number' && nbf - skewSeconds <= now / 1_000)) return undefined;
    return 'it is not valid yet (claim nbf)';
  },
  subject: ({ claims: { sub } }) =>
    isText(sub) && sub.length > 0 && sub.length <= maxSubject && !/\p{C}/u.test(sub)
      ? undefined
      : `its subject (claim sub) must be text of 1 to ${maxSubject} characters`,
};
