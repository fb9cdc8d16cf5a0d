import { Inject, Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { hash } from 'node:crypto';
import { Problem } from '../../../base/common/errors.js';
import { messageOf } from '../../../base/common/message-of.js';
import { SingleFlight } from '../../../base/common/single-flight.js';
import { TypedEvents } from '../../../base/common/typed-events.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { UpstreamFailure } from '../../../base/outbound/upstream-failure.js';
import { type Principal, type TokenCaller, TokenText } from '../../contract/principal.js';
import { effectiveScopes, evaluateRules, type Rights, rightsOf } from './access-rules.js';
import type { AccessRule, CheckedTokenView, TokenCheckView } from './access-rules.dto.js';
import { type Claims, maxTokenBytes, textsIn, tokenChecks, type VerifiedToken } from './token-checks.js';
import { TokenIssuer } from './token-issuer.js';

/** Max tokens in the cache, and the time for which one stays. */
const maxCached = 10_000;
const cachedMs = 60_000;
/** Cache time of a token about which the issuer was asked. It is short, because the issuer may revoke it at any time. */
const introspectedMs = 30_000;
/** Max characters of a name from a claim. */
const maxName = 128;

/** The checks of a token up to the first that failed. `caller` is present if all passed. */
interface CheckedToken extends Pick<CheckedTokenView, 'checks' | 'rules'> {
  readonly caller?: Principal;
}

/** Form of a bearer token that is no key (RFC 6750). */
const opaquePattern = /^(?!tk_)[\w.~+/-]+=*$/;
const jwtPattern = /^[\w-]+\.([\w-]+)\.[\w-]*$/;

/** Verifies access tokens of configured issuers. Tokens are neither stored nor logged. */
@Injectable()
export class AccessTokens {
  private readonly issuers: readonly TokenIssuer[];
  private rules: readonly AccessRule[] = [];
  /** Cache of callers, by the hash of their token. */
  private readonly verified = new LRUCache<string, Principal>({ max: maxCached });
  /** Verifications in progress, by the hash of the token. */
  private readonly verifications = new SingleFlight<Principal>();
  /** Emits when access rules have changed. */
  readonly changed = new TypedEvents<void>((error) => new Logger(AccessTokens.name).error(error));

  constructor(@Inject(APP_CONFIG) { auth, builtinTools }: Pick<AppConfig, 'auth' | 'builtinTools'>) {
    this.issuers = auth.issuers.map((issuer) => new TokenIssuer(issuer, builtinTools.outbound));
  }

  /** Whether access tokens are accepted. */
  get isOn(): boolean {
    return this.issuers.length > 0;
  }

  /** The issuer at which agents sign in through this server. */
  get issuerWithFacade(): TokenIssuer | undefined {
    return this.issuers.find(({ settings }) => settings.facade);
  }

  /** The issuers at which people sign in to the console. */
  get consoles(): readonly TokenIssuer[] {
    return this.issuers.filter(({ settings }) => settings.console);
  }

  /**
   * The person of a console session. `expiresAt` is the session's, in milliseconds since the epoch.
   * @returns undefined if people cannot sign in at the issuer any more
   */
  personOf(iss: string, { scope: _, scp: __, ...claims }: Claims, expiresAt: number): Principal | undefined {
    const issuer = this.consoles.find(({ settings }) => settings.issuer === iss);
    return issuer && this.callerOf({ ...claims, exp: expiresAt / 1_000 }, issuer).caller;
  }

  /** The caller of a token; a promise if it is not cached. @throws Problem `unauthorized` */
  find(token: string): Principal | Promise<Principal> {
    const id = hash('sha256', token, 'base64url');
    return this.verified.get(id) ?? this.verifications.join(id, () => this.verify(token, id));
  }

  /** Replaces the access rules. Cached callers are evaluated again. */
  replaceRules(rules: readonly AccessRule[]): void {
    this.rules = rules;
    this.verified.clear();
    this.changed.emit();
  }

  /** Checks a token, up to the first check that fails, and evaluates the access rules. */
  async check(token: string): Promise<CheckedToken> {
    const checks: TokenCheckView[] = [];
    const run = async <T>(check: string, work: () => T | Promise<T>): Promise<T> => {
      try {
        const result = await work();
        checks.push({ check, passed: true, detail: null });
        return result;
      } catch (error) {
        checks.push({ check, passed: false, detail: messageOf(error) });
        throw error;
      }
    };
    try {
      const issuers = await run('issuer', () => this.issuersOf(token));
      const [issuer, verified] = await run('signature', () => confirm(issuers, token));
      for (const [name, check] of Object.entries(tokenChecks))
        await run(name, () => check(verified, issuer.settings, Date.now() / 1_000));
      return { checks, ...this.callerOf(verified.claims, issuer) };
    } catch {
      return { checks, rules: [] };
    }
  }

  /** The caller of a token, which is then cached. @throws Problem `unauthorized` */
  private async verify(token: string, id: string): Promise<Principal> {
    const { checks, caller } = await this.check(token);
    if (!caller?.token) throw new Problem('unauthorized', `This token is refused: ${checks.at(-1)?.detail}.`);
    const maxMs = jwtPattern.test(token) ? cachedMs : introspectedMs;
    const ttl = Math.min(maxMs, caller.token.expiresAt - Date.now());
    const withText = { ...caller, token: { ...caller.token, text: new TokenText(token, id) } };
    if (ttl > 0) this.verified.set(id, withText, { ttl });
    return withText;
  }

  /** The issuers that a token may be of: the one that a JWT names, or else those that can be asked. @throws Error without one */
  private issuersOf(token: string): readonly TokenIssuer[] {
    if (token.length > maxTokenBytes) throw new Error(`it has over ${maxTokenBytes} characters`);
    const iss = issuerIn(token);
    const issuers = this.issuers.filter(({ settings: { issuer, introspection } }) =>
      // A revoked key must not be sent to an issuer.
      iss === undefined ? introspection !== undefined && opaquePattern.test(token) : issuer === iss,
    );
    if (issuers.length > 0) return issuers;
    if (iss !== undefined) throw new Error('its issuer (claim iss) is not in OIDC_ISSUERS');
    throw new Error('it is neither a valid key nor a token of an issuer in OIDC_ISSUERS');
  }

  /** The caller with these claims, and the evaluation of the access rules. */
  private callerOf(claims: Claims, { settings: { issuer } }: TokenIssuer): Omit<CheckedToken, 'checks'> {
    const rules = evaluateRules(this.rules, issuer, claims);
    const rights = rightsOf(rules);
    const { scopes, ...limits }: Rights = rights ?? { scopes: new Set() };
    const subject = String(claims['sub']);
    const readClaims = [...new Set(rules.map(({ rule }) => rule.claim))];
    const token: TokenCaller = {
      expiresAt: 1_000 * Number(claims['exp']),
      granted: [...scopes],
      ...textMember('client', claims['azp'] ?? claims['client_id'] ?? claims['appid'] ?? claims['cid']),
      ...textMember('name', claims['name'] ?? claims['preferred_username'] ?? claims['email']),
      ...(!rights && { unmatched: readClaims.join(', ') || 'there is no rule' }),
    };
    const caller: Principal = {
      userId: this.issuers.length > 1 ? `${subject}@${issuer.replace(/^https?:\/\//, '')}` : subject,
      keyId: `${issuer}#${subject}`,
      scopes: effectiveScopes(scopes, claims),
      ...limits,
      token,
    };
    return { rules, caller };
  }
}

/** The claim `iss` of a JWT, which is not verified; undefined for any other text. */
export function issuerIn(token: string): string | undefined {
  try {
    const payload = Buffer.from(jwtPattern.exec(token)?.[1] ?? '', 'base64url').toString();
    const { iss } = JSON.parse(payload) as Claims;
    return typeof iss === 'string' ? iss : undefined;
  } catch {
    return undefined;
  }
}

/** The first issuer that confirms a token. @throws Error with the reason if there is none */
async function confirm(
  issuers: readonly TokenIssuer[],
  token: string,
): Promise<[TokenIssuer, VerifiedToken]> {
  const isJwt = issuerIn(token) !== undefined;
  try {
    for (const issuer of issuers) {
      const verified = await (isJwt ? issuer.verify(token) : issuer.introspect(token));
      if (verified) return [issuer, verified];
    }
  } catch (cause) {
    const isUnreachable = cause instanceof UpstreamFailure;
    throw new Error(isUnreachable ? `its issuer cannot be asked (${cause.kind})` : messageOf(cause), {
      cause,
    });
  }
  throw new Error('no issuer knows it, or it has ended');
}

/** An object with the first text of a claim, cleaned for display; empty without one. */
function textMember<Name extends string>(name: Name, value: unknown): { readonly [N in Name]?: string } {
  const [text = ''] = textsIn(value);
  const shown = text.replaceAll(/\p{C}/gu, '').slice(0, maxName);
  return (shown === '' ? {} : { [name]: shown }) as { [N in Name]?: string };
}
