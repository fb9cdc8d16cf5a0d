import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hostname } from 'node:os';
import { invalidRequest, Problem } from '../../common/errors.js';
import { manifest } from '../../common/project.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { Contributors } from '../../observability/contributors.js';
import type { Principal } from '../../tool-contract/principal.js';
import { unauthorized } from '../access-policy.js';
import { presentedKey } from '../api-key.js';
import { adminKeyId, KnownKeys } from '../known-keys.js';
import { OnceLinks } from '../once-links.js';
import { principalOf } from '../principal.decorator.js';
import { type NewSession, Sessions, setCookie } from '../sessions.js';
import { serverLimits } from './server-limits.js';
import type { EnvironmentView, NewSessionView, SessionView, SignInBody } from './session.shapes.js';

/** Signs browsers in and out, and tells a caller who it is. */
@Injectable()
export class SessionService {
  private readonly version: string;

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly keys: KnownKeys,
    private readonly links: OnceLinks,
    private readonly sessions: Sessions,
    private readonly contributors: Contributors,
  ) {
    this.version = manifest().version;
  }

  /**
   * @throws Problem `unauthorized` for a key that opens nothing, or a link that was used or is over; `conflict` where
   * nobody is asked for a key
   */
  async signIn(body: SignInBody, request: FastifyRequest, reply: FastifyReply): Promise<NewSessionView> {
    const principal = this.shownBy(body);
    const session = this.sessions.begin(principal.keyId ?? adminKeyId);
    if (!session)
      throw new Problem('conflict', 'With AUTH_MODE=off nobody is asked for a key: there is nothing to open');
    answerCookie(request, reply, session);
    return { ...(await this.viewOf(principal, session)), secondHalf: session.secondHalf };
  }

  show(request: FastifyRequest): Promise<SessionView> {
    const { headers } = request;
    const session = presentedKey(headers) === undefined ? this.sessions.find(headers) : undefined;
    return this.viewOf(principalOf(request), session);
  }

  signOut(request: FastifyRequest, reply: FastifyReply): void {
    answerCookie(request, reply, undefined);
  }

  private shownBy({ key, once }: SignInBody): Principal {
    if ((key === undefined) === (once === undefined))
      throw invalidRequest({ pointer: '', detail: 'must hold either key or once' });
    const isGood = once === undefined || this.links.take(once);
    const principal = once === undefined ? this.keys.find(key) : this.keys.withId(adminKeyId);
    if (principal && isGood) return principal;
    throw unauthorized(
      once === undefined
        ? 'This key is not known, has expired or was revoked.'
        : 'This link was used, or its five minutes are over: sign in with a key, or restart the server for another link.',
    );
  }

  private async viewOf(
    principal: Principal,
    session: { readonly expiresAt: number } | undefined,
  ): Promise<SessionView> {
    const expiresAt = session ? new Date(session.expiresAt).toISOString() : null;
    const { userId, keyId = null, scopes, projects = null, tools = null } = principal;
    return {
      ...{ userId, keyId, anonymous: keyId === null, scopes: [...scopes], projects, tools, expiresAt },
      environment: scopes.has('metrics:read') ? await this.environment() : null,
    };
  }

  private async environment(): Promise<EnvironmentView> {
    const sandbox = await new Map(this.contributors.health()).get('sandbox')?.();
    const tier = sandbox?.['tier'];
    return {
      version: this.version,
      replica: hostname(),
      database: this.config.database.url === undefined ? 'embedded' : 'own',
      sandboxTier: typeof tier === 'number' ? tier : null,
      grantablePaths: (sandbox?.['grantable'] as readonly string[] | undefined) ?? [],
      limits: serverLimits(this.config),
    };
  }
}

function answerCookie(
  { protocol }: FastifyRequest,
  reply: FastifyReply,
  session: NewSession | undefined,
): void {
  const value = setCookie(session?.cookie, session?.expiresAt ?? 0, protocol === 'https');
  void reply.headers({ 'set-cookie': value, 'cache-control': 'no-store' });
}
