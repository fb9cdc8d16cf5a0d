import type { OidcIssuer } from '../../../base/config/oidc-setting.js';
import { type Scope, scopes } from '../../contract/principal.js';

/** The claims of a token. */
export type Claims = Readonly<Record<string, unknown>>;

/** A token whose issuer confirms it: by its signature, or by introspection. */
export interface VerifiedToken {
  readonly claims: Claims;
  /** `typ` of a JWT's header. */
  readonly typ?: string | undefined;
}

/** Tolerance between the clocks of issuer and server. */
const skewSeconds = 5;
/** Max length of a token. */
export const maxTokenBytes = 16_384;
/** Max characters of a subject. */
const maxSubject = 255;

/** Values of the claim `typ` of Keycloak's tokens that are not access tokens. */
const otherTypes = /^(id|refresh|offline|logout|serialized-id)$/i;
/** Claims that only ID tokens have. */
const idTokenClaims = ['nonce', 'at_hash', 'c_hash'];

const isText = (value: unknown): value is string => typeof value === 'string';
/** The texts in a claim, which may be one text or a list. */
export const textsIn = (value: unknown): readonly string[] => [value].flat().filter(isText);

/** The scopes of this server that a token names: `scope`, or `scp` of Entra and Okta. */
export function scopesIn({ scope, scp }: Claims): readonly Scope[] {
  const names = new Set(textsIn(scope ?? scp).flatMap((text) => text.split(' ')));
  return scopes.filter((each) => names.has(each));
}

/** Asserts a condition of a token. @param otherwise the reason to refuse it @throws Error with the reason */
function accept(condition: boolean, otherwise: string): void {
  if (!condition) throw new Error(otherwise);
}

/** The checks of a verified token, in order. `now` is in seconds. */
export const tokenChecks: Readonly<
  Record<string, (token: VerifiedToken, issuer: OidcIssuer, now: number) => void>
> = {
  type: ({ claims, typ = 'JWT' }) => {
    const { typ: kind, token_type: type = 'Bearer', cnf } = claims;
    const name = typ.toLowerCase().replace(/^application\//, '');
    accept(name === 'at+jwt' || name === 'jwt', 'its header `typ` is not that of an access token');
    accept(
      !otherTypes.test(String(kind)) && /^bearer$/i.test(String(type)),
      'it is no access token for Bearer',
    );
    const idTokenClaim =
      name === 'jwt' ? idTokenClaims.find((claim) => Object.hasOwn(claims, claim)) : undefined;
    accept(idTokenClaim === undefined, `it is an ID token (claim ${idTokenClaim}): send the access token`);
    // The caller would have to prove that it has the client's key.
    accept(cnf === undefined, 'it is bound to a key of its client (claim cnf)');
  },
  audience: ({ claims: { aud } }, { audiences }) =>
    accept(
      textsIn(aud).some((each) => audiences.includes(each)),
      `it is for another audience: \`aud\` must have ${audiences.join(' or ')}`,
    ),
  expiry: ({ claims: { exp } }, _issuer, now) => {
    accept(Number.isFinite(exp), 'it has no expiry (claim exp)');
    accept(Number(exp) + skewSeconds > now, 'it has expired');
  },
  start: ({ claims: { nbf = 0 } }, _issuer, now) =>
    accept(Number.isFinite(nbf) && Number(nbf) - skewSeconds <= now, 'it is not valid yet (claim nbf)'),
  subject: ({ claims: { sub } }) =>
    accept(
      isText(sub) && sub !== '' && sub.length <= maxSubject && !/\p{C}/u.test(sub),
      `its subject (claim sub) must be text of 1 to ${maxSubject} characters`,
    ),
};
