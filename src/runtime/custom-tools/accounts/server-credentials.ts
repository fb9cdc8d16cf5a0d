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

const challengeOf = ({ headers }: Answer): string => String(headers['www-authenticate'] ?? '');
const lacksScope = (answer: Answer): boolean =>
  answer.statusCode === 403 && /error="?insufficient_scope/.test(challengeOf(answer));

/** Tokens of this server itself. A new one is got shortly before the last one ends, or after it was refused. */
export class SharedCredential implements Credential {
  private grant: Promise<Grant> | undefined;
  private renewAt = 0;

  constructor(private readonly server: OAuthServer) {}

  async token(): Promise<string> {
    if (!this.grant || this.renewAt <= Date.now()) this.grant = this.got();
    return (await this.grant).accessToken;
  }

  async next(token: string, { statusCode }: Answer, tries: number): Promise<string | undefined> {
    if (statusCode !== 401 || tries > 0) return undefined;
    if ((await this.grant)?.accessToken === token) this.grant = undefined;
    return this.token();
  }

  private got(): Promise<Grant> {
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
  /** The token for a process of an admitted caller; absent: its requests get it. @throws Refusal `tool_unavailable` */
  tokenOf?(user: string): string;

  constructor(
    protected readonly accounts: Accounts,
    protected readonly server: AccountServer,
  ) {}

  ownerOf(caller: Principal): string | undefined {
    return this.accounts.ownerOf(this.server, caller);
  }

  isExchanged(caller: Principal): boolean {
    return this.ownerOf(caller) !== caller.keyId;
  }

  /** @throws Refusal `authorization_required`, with a link if a sign-in helps */
  async assertSignedIn(caller: Principal): Promise<void> {
    const owner = this.ownerOf(caller);
    if (owner === undefined) throw this.accounts.refusal(this.server, caller);
    try {
      await this.use(owner);
    } catch (error) {
      if (error instanceof SignInNeeded) throw this.accounts.refusal(this.server, caller, error);
      if (this.isExchanged(caller))
        throw new Refusal('tool_unavailable', `${this.server.name}: ${messageOf(error)}`, {
          retryAfterMs: 1_000,
        });
      // Only the call needs the token: it says why there is none.
    }
  }

  protected async use(user: string): Promise<void> {
    await this.accounts.grant(this.server, user);
  }

  /** The error of a call as its caller gets it: a refusal with a link if another sign-in would help. */
  async explained(error: unknown, caller: Principal): Promise<unknown> {
    if (!(error instanceof ToolFailure)) return error;
    if (error.code === signInNeededCode) {
      const { scope } = (error.data ?? {}) as { readonly scope?: string };
      return this.accounts.refusal(this.server, caller, { message: error.message, ...(scope && { scope }) });
    }
    // The session could not begin: its caller may have no account.
    return this.assertSignedIn(caller).then(
      () => error,
      (refusal: unknown) => refusal,
    );
  }

  /** Its calls come at the same time: each knows its own token alone. */
  credentialOf(user: string): Credential {
    const { accounts, server } = this;
    return {
      token: async () => (await accounts.grant(server, user)).accessToken,
      next: async (token, answer, tries) => {
        if (lacksScope(answer)) return this.refuseScope(user, answer, await accounts.grant(server, user));
        if (answer.statusCode !== 401) return undefined;
        if (tries > 0) throw new SignInNeeded('Its server refuses a token that was just issued');
        return (await accounts.renewed(server, user, token)).accessToken;
      },
    };
  }

  /** A scope that was granted already, and is still not enough, is not asked for again. */
  private refuseScope(user: string, answer: Answer, { scope: held = '' }: Grant): undefined {
    const asked = /scope="([^"]*)"/.exec(challengeOf(answer))?.[1]?.split(' ') ?? [];
    const own = held.split(' ').filter(Boolean);
    if (asked.every((scope) => own.includes(scope))) return undefined;
    this.accounts.askForScopes(this.server, user, [...new Set([...own, ...asked])].join(' '));
  }
}

const maxTokens = 10_000;

/** Accounts at a server that gets the token of a caller with the process of that caller. */
export class ProcessAccounts extends ServerAccounts {
  /** Tokens with which calls were admitted last. */
  private readonly tokens = new LRUCache<string, string>({ max: maxTokens });
  /** Tokens that replaced a refused one. A server that also refuses these has another reason. */
  private readonly replacements = new LRUCache<string, string>({ max: maxTokens });

  override tokenOf(user: string): string {
    const token = this.tokens.get(user);
    if (token !== undefined) return token;
    const detail = `${this.server.name}: its authorization server issues no token now`;
    throw new Refusal('tool_unavailable', detail, { retryAfterMs: 1_000 });
  }

  protected override async use(user: string): Promise<void> {
    try {
      this.tokens.set(user, (await this.accounts.grant(this.server, user)).accessToken);
    } catch (error) {
      if (error instanceof SignInNeeded) this.tokens.delete(user);
      throw error;
    }
  }

  override async explained(error: unknown, caller: Principal): Promise<unknown> {
    const user = this.ownerOf(caller) ?? '';
    // A renewal that fails for good shows in the check below.
    if (error instanceof ToolFailure && isUnauthorized(error.message))
      await this.renewOnce(user).catch(() => undefined);
    return super.explained(error, caller);
  }

  /** Only the words of a failure tell that its token was refused: without another one to try, they end no account. */
  private async renewOnce(user: string): Promise<void> {
    const { accessToken, refreshToken } = await this.accounts.grant(this.server, user);
    if (refreshToken === undefined || this.replacements.get(user) === accessToken) return;
    this.replacements.set(user, (await this.accounts.renewed(this.server, user, accessToken)).accessToken);
  }
}
