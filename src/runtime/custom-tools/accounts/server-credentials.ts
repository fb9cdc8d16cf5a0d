import { LRUCache } from 'lru-cache';
import { Refusal } from '../../../base/common/errors.js';
import { messageOf } from '../../../base/common/message-of.js';
import type { Principal } from '../../../web/contract/principal.js';
import { ToolFailure } from '../../../web/contract/tool-outcome.js';
import { type Credential, SignInNeeded, signInNeededCode } from '../../mcp-client/credential.js';
import { isUnauthorized } from '../../mcp-client/failed-results.js';
import type { Accounts, AccountServer } from './accounts.js';
import { clientToken, type Grant, type OAuthServer } from './oauth-flow.js';
import type { Answer } from '../../mcp-client/remote-answer.js';

/** Retry hint while an authorization server issues no token. */
const retryAfterMs = 1_000;

/** The header in which a server says why it refuses a token. */
const challengeOf = ({ headers }: Answer): string => String(headers['www-authenticate'] ?? '');
const lacksScope = (answer: Answer): boolean =>
  answer.statusCode === 403 && /error="?insufficient_scope/.test(challengeOf(answer));

/** Tokens of this gateway itself. A token is replaced shortly before it expires, or after it was refused. */
export class SharedCredential implements Credential {
  private grant: Promise<Grant> | undefined;
  /** Time from which another token is requested, in milliseconds since the epoch. */
  private renewAt = 0;

  constructor(private readonly server: OAuthServer) {}

  async token(): Promise<string> {
    if (!this.grant || this.renewAt <= Date.now()) this.grant = this.requestGrant();
    return (await this.grant).accessToken;
  }

  async next(token: string, { statusCode }: Answer, tries: number): Promise<string | undefined> {
    if (statusCode !== 401 || tries > 0) return undefined;
    if ((await this.grant)?.accessToken === token) this.grant = undefined;
    return this.token();
  }

  /** Requests a token. Until the answer, all callers wait for this one. */
  private requestGrant(): Promise<Grant> {
    this.renewAt = Infinity;
    const grant = clientToken(this.server);
    grant.then(
      ({ renewAt = Infinity }) => (this.renewAt = renewAt),
      () => (this.renewAt = 0),
    );
    return grant;
  }
}

/** Accounts of all callers at one server. */
export class ServerAccounts {
  /**
   * The token in the environment of a caller's process. Absent if requests carry the token instead.
   * @throws Refusal `tool_unavailable`
   */
  tokenOf?(user: string): string;

  constructor(
    protected readonly accounts: Accounts,
    protected readonly server: AccountServer,
  ) {}

  ownerOf(caller: Principal): string | undefined {
    return this.accounts.ownerOf(this.server, caller);
  }

  /** Whether a caller's access token is exchanged, instead of using its account. */
  isExchanged(caller: Principal): boolean {
    return this.ownerOf(caller) !== caller.keyId;
  }

  /** Checks that a caller can be served. @throws Refusal `authorization_required`, with a link if a sign-in helps */
  async assertSignedIn(caller: Principal): Promise<void> {
    const owner = this.ownerOf(caller);
    if (owner === undefined) throw this.accounts.refusal(this.server, caller);
    try {
      await this.checkGrant(owner);
    } catch (error) {
      if (error instanceof SignInNeeded) throw this.accounts.refusal(this.server, caller, error);
      if (this.isExchanged(caller))
        throw new Refusal('tool_unavailable', `${this.server.name}: ${messageOf(error)}`, {
          retryAfterMs,
        });
      // Other errors are left to the call, which needs the token and reports them.
    }
  }

  /** The error of a call as its caller sees it: a refusal with a link if another sign-in would help. */
  async errorForCaller(error: unknown, caller: Principal): Promise<unknown> {
    if (!(error instanceof ToolFailure)) return error;
    if (error.code === signInNeededCode) {
      const { scope } = (error.data ?? {}) as { readonly scope?: string };
      return this.accounts.refusal(this.server, caller, { message: error.message, ...(scope && { scope }) });
    }
    // The session may have failed because the caller has no account.
    return this.assertSignedIn(caller).then(
      () => error,
      (refusal: unknown) => refusal,
    );
  }

  credentialOf(user: string): Credential {
    const { accounts, server } = this;
    return {
      token: async () => (await accounts.grant(server, user)).accessToken,
      next: async (token, answer, tries) => {
        if (lacksScope(answer)) return this.demandScopes(user, answer, await accounts.grant(server, user));
        if (answer.statusCode !== 401) return undefined;
        if (tries > 0) throw new SignInNeeded('Its server refuses a token that was just issued');
        return (await accounts.renewedGrant(server, user, token)).accessToken;
      },
    };
  }

  /** Gets the tokens of a caller, or throws. @throws SignInNeeded */
  protected async checkGrant(user: string): Promise<void> {
    await this.accounts.grant(this.server, user);
  }

  /**
   * Demands the scopes that an answer says are missing. Scopes that were granted and still do not suffice are not
   * demanded again. @throws SignInNeeded
   */
  private demandScopes(user: string, answer: Answer, { scope = '' }: Grant): undefined {
    const demanded = /scope="([^"]*)"/.exec(challengeOf(answer))?.[1]?.split(' ') ?? [];
    const granted = scope.split(' ').filter(Boolean);
    if (demanded.every((each) => granted.includes(each))) return undefined;
    this.accounts.demandScopes(this.server, user, [...new Set([...granted, ...demanded])].join(' '));
  }
}

/** Max callers of a server whose tokens are remembered. */
const maxTokens = 10_000;

/** Accounts at a server whose processes each get the token of one caller. */
export class ProcessAccounts extends ServerAccounts {
  /** Tokens of the last admitted calls, by owner. */
  private readonly tokens = new LRUCache<string, string>({ max: maxTokens });
  /** Tokens that replaced a refused one. If they are refused as well, the token is not the cause. */
  private readonly replacements = new LRUCache<string, string>({ max: maxTokens });

  override tokenOf(user: string): string {
    const token = this.tokens.get(user);
    if (token !== undefined) return token;
    const detail = `${this.server.name}: its authorization server issues no token now`;
    throw new Refusal('tool_unavailable', detail, { retryAfterMs });
  }

  /** Also stores the token for the caller's processes. */
  protected override async checkGrant(user: string): Promise<void> {
    try {
      this.tokens.set(user, (await this.accounts.grant(this.server, user)).accessToken);
    } catch (error) {
      if (error instanceof SignInNeeded) this.tokens.delete(user);
      throw error;
    }
  }

  override async errorForCaller(error: unknown, caller: Principal): Promise<unknown> {
    const user = this.ownerOf(caller) ?? '';
    // The check below reports a renewal that failed for good.
    if (error instanceof ToolFailure && isUnauthorized(error.message))
      await this.renewOnce(user).catch(() => undefined);
    return super.errorForCaller(error, caller);
  }

  /** Renews a token once. Without a refresh token the account stays, because only the failure's text suggests a refusal. */
  private async renewOnce(user: string): Promise<void> {
    const { accessToken, refreshToken } = await this.accounts.grant(this.server, user);
    if (refreshToken === undefined || this.replacements.get(user) === accessToken) return;
    this.replacements.set(
      user,
      (await this.accounts.renewedGrant(this.server, user, accessToken)).accessToken,
    );
  }
}
