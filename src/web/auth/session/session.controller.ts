import { Body, Controller, Delete, Get, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiProperty,
  ApiTags,
} from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { join } from 'node:path';
import { minuteMs } from '../../../base/common/clock.js';
import { invalidRequest, Problem } from '../../../base/common/errors.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { LocalCounters } from '../../../base/counters/counters.js';
import { Replicas } from '../../../base/database/replicas.js';
import { Contributors } from '../../../base/observability/contributors.js';
import { ApiProblems } from '../../rest/api-problems.decorator.js';
import {
  Example,
  NullableMoment,
  NullableText,
  NullableTexts,
  OneOfThese,
  OptionalText,
  Texts,
} from '../../rest/dto.js';
import { isBound, type Principal, type Scope, scopes } from '../../contract/principal.js';
import { unauthorized } from '../access-policy.js';
import { actorOf, AuditLog } from '../audit/audit-log.js';
import { networkOf } from '../call-rates.js';
import { adminKeyId, KnownKeys, presentedKey } from '../known-keys.js';
import { principalOf } from '../principal.decorator.js';
import { Public, Scopes } from '../scopes.decorator.js';
import { cookiesIn, type NewSession, Sessions, setCookieHeader, SignInLinks } from '../sessions.js';
import { AccessTokens } from '../tokens/access-tokens.js';
import { ProviderClient } from './provider-client.js';
import { ProviderSessions } from './provider-sessions.js';
import { transactionCookie } from './providers.controller.js';

/** Max failed sign-ins per minute and network. */
const maxFailures = 20;
const exampleKeyFile = '/opt/toolkeeper/.toolkeeper/admin.key';

/** Credentials of a sign-in: exactly one of the three. */
class SignInBody {
  @OptionalText(512, {
    example: 'tk_019a9e0c5d0e7cc1a3f2_3q2-7wUyB0XnP1Zk8sVd4eRtG6hJ9mLcQaWfYxKoIuE',
    description: "An API key, or the operator's key",
  })
  readonly key?: string;
  @OptionalText(128, {
    description: 'Code of the link that `npm start` prints: valid once, for five minutes',
  })
  readonly once?: string;
  @OptionalText(8_192, {
    description: 'The query with which an OpenID provider sent the browser back, such as `code=…&state=…`',
  })
  readonly answer?: string;
}

/** How this server is set up, for its operator. */
class EnvironmentView {
  @Example('1.0.0') readonly version!: string;
  @Example('toolkeeper-7d4f9', 'Name of the host that answered') readonly replica!: string;
  @Example('/opt/toolkeeper/bin/toolkeeper.mjs', 'The command line') readonly command!: string;
  @Example('/opt/toolkeeper/.toolkeeper', 'TOOLKEEPER_DATA_DIR') readonly dataDir!: string;
  @NullableText(exampleKeyFile, "File of the operator's key; null if the key is configured")
  readonly keyFile!: string | null;
  @OneOfThese(['embedded', 'own'], 'embedded') readonly database!: 'embedded' | 'own';
  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: 2,
    description: 'Strongest sandbox tier that this host supports, 0 to 3; null without custom tools',
  })
  readonly sandboxTier!: number | null;
  @Texts(['/var/log'], 'Folders that tools may be granted besides their own (SANDBOX_GRANTABLE_PATHS)')
  readonly grantablePaths!: readonly string[];
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer' },
    example: { TOOL_INPUT_MAX_BYTES: 1_048_576 },
    description: 'Limits for callers and authors of tools, by the variable that sets each',
  })
  readonly limits!: Readonly<Record<string, number>>;
}

/** The caller and its rights. */
class SessionView {
  @Example('admin') readonly userId!: string;
  @NullableText('Alice Example', 'Name of a person who signed in at an OpenID provider')
  readonly name!: string | null;
  @NullableText('admin', 'null: the caller sent no key') readonly keyId!: string | null;
  @Example(false, 'The caller sent no key: it has the rights of all such callers')
  readonly anonymous!: boolean;
  @ApiProperty({ enum: scopes, isArray: true, example: ['tools:call'] }) readonly scopes!: readonly Scope[];
  @NullableTexts(null, 'null: all') readonly projects!: readonly string[] | null;
  @NullableTexts(null, 'null: all') readonly tools!: readonly string[] | null;
  @NullableMoment('2099-01-01T00:00:00.000Z', "End of this browser's session; null without a session")
  readonly expiresAt!: string | null;
  @ApiProperty({
    type: EnvironmentView,
    nullable: true,
    description: "This server's setup; null without the scope `metrics:read`, or for a key with projects",
  })
  readonly environment!: EnvironmentView | null;
}

class NewSessionView extends SessionView {
  @Example(
    '3q2-7wUyB0XnP1Zk8sVd4eRtG6hJ9mLcQaWfYxKoIuE',
    'For the header `x-toolkeeper-session` of all requests other than GET; shown only once',
  )
  readonly csrfToken!: string;
  @OptionalText(2_048, {
    example: '/console/tools',
    description: 'Console path that was requested before the sign-in at a provider',
  })
  readonly to?: string | undefined;
}

/** The end of a session whose provider has a page to sign out, too. */
class SignedOutView {
  @Example(
    'https://login.example.com/logout?client_id=toolkeeper',
    'Where the browser signs out at the provider',
  )
  readonly url!: string;
}

/** Signs browsers in and out, and describes the caller. */
@ApiTags('session')
@ApiProblems('unauthorized', 'forbidden')
@Controller('api/v1/session')
export class SessionController {
  /** Failed sign-ins, by network of the address. */
  private readonly failures = new LocalCounters(maxFailures);

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly keys: KnownKeys,
    private readonly links: SignInLinks,
    private readonly sessions: Sessions,
    private readonly contributors: Contributors,
    private readonly audit: AuditLog,
    private readonly replicas: Replicas,
    private readonly provider: ProviderClient,
    private readonly providerSessions: ProviderSessions,
    private readonly tokens: AccessTokens,
  ) {}

  /**
   * @throws Problem `unauthorized` for an invalid key, or a used or expired link; `conflict` if no API key is required;
   * `rate_limited` after too many failures from one address
   */
  @Post()
  @Public()
  @ApiOperation({
    summary: 'Sign a browser in',
    description:
      'The answer sets a cookie, which no script can read, and holds the CSRF token. The cookie alone reads, streams included. A request that is not GET must also carry the CSRF token in `x-toolkeeper-session`, and come from a page of this server. A session opens what its key opens, for twelve hours, and ends with the key.',
  })
  @ApiCreatedResponse({ type: NewSessionView })
  @ApiProblems('invalid_request', 'payload_too_large', 'conflict', 'rate_limited')
  async signIn(
    @Body() body: SignInBody,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<NewSessionView> {
    if ([body.key, body.once, body.answer].filter((credential) => credential !== undefined).length !== 1)
      throw invalidRequest({ pointer: '', detail: 'must hold one of key, once and answer' });
    const { principal, session, to } =
      body.answer === undefined
        ? this.signInByKey(body, request.ip)
        : await this.signInByProvider(body.answer, request, reply);
    // Ends the browser's previous session.
    await this.providerSessions.end(request.headers.cookie);
    setSessionCookie(request, reply, session);
    await this.record({ action: 'signIn', status: 201 }, principal, request);
    return { ...(await this.viewOf(principal, session)), csrfToken: session.csrfToken, to };
  }

  @Get()
  @Scopes()
  @ApiOperation({
    summary: 'Who am I, and what may I do',
    description: 'For any caller, by a session, a key, or without either.',
  })
  @ApiOkResponse({ type: SessionView })
  getSession(@Req() request: FastifyRequest): Promise<SessionView> {
    const { headers } = request;
    const session = presentedKey(headers) === undefined ? this.sessions.find(headers) : undefined;
    return this.viewOf(principalOf(request), session);
  }

  @Delete()
  @Public()
  @HttpCode(204)
  @ApiOperation({
    summary: 'Sign this browser out',
    description:
      'Takes the cookie out of the browser. A session by a key that was copied ends with its key; one that began at an OpenID provider ends at all replicas.',
  })
  @ApiNoContentResponse({ description: 'The cookie is gone' })
  @ApiOkResponse({ type: SignedOutView, description: 'The same; the provider has a page to sign out' })
  async signOut(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SignedOutView | undefined> {
    setSessionCookie(request, reply);
    const session = this.sessions.find(request.headers);
    const ended = await this.providerSessions.end(request.headers.cookie);
    if (session) await this.record({ action: 'signOut', status: 204 }, session.principal, request);
    const url = ended && (await this.provider.signOutUrl(ended));
    if (url === undefined) return undefined;
    void reply.status(200);
    return { url };
  }

  /** Begins a session by a key or a sign-in link. */
  private signInByKey(body: SignInBody, address: string): NewSignIn {
    const principal = this.redeem(body);
    if (!principal) throw this.countFailure(unauthorized(refusalOf(body)), address);
    const session = this.sessions.begin(principal.keyId ?? adminKeyId);
    if (!session)
      throw new Problem('conflict', 'With AUTH_MODE=off nobody is asked for a key: there is nothing to open');
    return { principal, session, to: undefined };
  }

  /** Begins a session of a person whom an OpenID provider has sent back. */
  private async signInByProvider(
    answer: string,
    { headers, ip, protocol }: FastifyRequest,
    reply: FastifyReply,
  ): Promise<NewSignIn> {
    const transactions = cookiesIn(headers.cookie, transactionCookie.name);
    const finishing = this.provider.finish(answer, transactions);
    const { to, ...person } = await finishing.catch((error: unknown) => {
      throw error instanceof Problem ? this.countFailure(error, ip) : error;
    });
    const principal = this.tokens.personOf(person.issuer, person.claims, Date.now());
    if (!principal || principal.scopes.size === 0) {
      const { name = 'You', unmatched } = principal?.token ?? {};
      const detail = `${name} signed in at ${person.issuer}, but no access rule gives rights here. Claims that the rules look at: ${unmatched}. Ask the operator of this server for a rule.`;
      throw new Problem('forbidden', detail);
    }
    const session = await this.providerSessions.begin(person);
    void reply.header('set-cookie', setCookieHeader(undefined, protocol, transactionCookie));
    return { principal, session, to };
  }

  /** The principal of a key, or of a sign-in link, which is thereby used. Undefined if it is invalid, used or expired. */
  private redeem({ key, once }: SignInBody): Principal | undefined {
    if (once === undefined) return this.keys.find(key);
    return this.links.take(once) ? this.keys.withId(adminKeyId) : undefined;
  }

  /**
   * Counts a failed sign-in. Successes do not count, so that others behind the same address do not block a valid key.
   * @returns the problem to answer: the given one, or `rate_limited` over the limit
   */
  private countFailure(problem: Problem, address: string): Problem {
    const counter = { kind: 'rate', project: '', subject: networkOf(address), name: '' } as const;
    const { granted, resetsAt } = this.failures.take({ ...counter, limit: maxFailures, ttlMs: minuteMs });
    return granted ? problem : tooManyFailures(resetsAt - Date.now());
  }

  /** Writes a sign-in or sign-out to the audit log. */
  private record(
    act: { readonly action: string; readonly status: number },
    principal: Principal,
    { ip: address, id: requestId }: FastifyRequest,
  ): Promise<void> {
    const actor = { ...actorOf({ keyId: adminKeyId, ...principal }), address, requestId, reason: null };
    return this.audit.write({ ...actor, ...act, target: 'session', project: null });
  }

  private async viewOf(
    principal: Principal,
    session: { readonly expiresAt: number } | undefined,
  ): Promise<SessionView> {
    const { userId, keyId = null, token, scopes, projects = null, tools = null } = principal;
    return {
      userId,
      name: token?.name ?? null,
      keyId,
      anonymous: keyId === null,
      scopes: [...scopes],
      projects,
      tools,
      expiresAt: session ? new Date(session.expiresAt).toISOString() : null,
      environment: scopes.has('metrics:read') && !isBound(principal) ? await this.environment() : null,
    };
  }

  private async environment(): Promise<EnvironmentView> {
    const sandbox = await new Map(this.contributors.health()).get('sandbox')?.();
    const tier = sandbox?.['tier'];
    return {
      version: this.config.version,
      command: join(this.config.root, 'bin/toolkeeper.mjs'),
      dataDir: this.config.dataDir,
      keyFile: this.keys.adminKeyFile ?? null,
      replica: this.replicas.name,
      database: this.config.database.url === undefined ? 'embedded' : 'own',
      sandboxTier: typeof tier === 'number' ? tier : null,
      grantablePaths: (sandbox?.['grantable'] as readonly string[] | undefined) ?? [],
      limits: serverLimits(this.config),
    };
  }
}

/** A new session, with the console path to open after the sign-in. */
interface NewSignIn {
  readonly principal: Principal;
  readonly session: NewSession;
  readonly to: string | undefined;
}

/** Limits for callers and authors of tools, by the variable that sets each. */
function serverLimits(config: AppConfig): Readonly<Record<string, number>> {
  const { bundles, customTools, investigations, recorder, spans, toolInput } = config;
  return {
    INVESTIGATION_CALLS_PER_TOOL: investigations.callsPerTool,
    CUSTOM_TOOLS_DEFAULT_TIMEOUT: customTools.defaultTimeoutMs,
    TOOL_INPUT_MAX_BYTES: toolInput.maxBytes,
    CUSTOM_TOOLS_MAX_OUTPUT_BYTES: customTools.maxOutputBytes,
    CUSTOM_TOOLS_MAX_QUEUE: customTools.maxQueue,
    CUSTOM_TOOLS_MAX_PROCESSES: customTools.maxProcesses,
    BUNDLE_MAX_BYTES: bundles.maxBytes,
    METRICS_RETENTION_DAYS: recorder.retentionDays,
    SPANS_RETENTION_DAYS: spans.retentionDays,
  };
}

const refusalOf = ({ once }: SignInBody): string =>
  once === undefined
    ? 'This key is not known, has expired or was revoked.'
    : 'This link was used, or its five minutes are over: sign in with a key, or restart the server for another link.';

const tooManyFailures = (retryAfterMs: number): Problem =>
  new Problem('rate_limited', `${maxFailures} sign-ins a minute may fail from one address`, { retryAfterMs });

/** Sets the cookie of a session; deletes it without one. */
function setSessionCookie({ protocol }: FastifyRequest, reply: FastifyReply, session?: NewSession): void {
  const cookie = session && { value: session.cookie, endsAt: session.expiresAt };
  void reply.header('set-cookie', setCookieHeader(cookie, protocol)).header('cache-control', 'no-store');
}
