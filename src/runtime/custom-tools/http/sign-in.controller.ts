import { Controller, Get, Query, Req, Res, UseFilters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createHash, randomBytes } from 'node:crypto';
import { Problem } from '../../../base/common/errors.js';
import { messageOf } from '../../../base/common/message-of.js';
import { KeyRing, SealedValues } from '../../../base/config/key-ring.js';
import { Public } from '../../../web/auth/scopes.decorator.js';
import { cookiesIn, Sessions } from '../../../web/auth/sessions.js';
import { AccessTokens } from '../../../web/auth/tokens/access-tokens.js';
import { escaped, ProblemPage, sendPage } from '../../../web/rest/html.js';
import { Accounts, signInPath, type SignInLink } from '../accounts/accounts.js';
import { beginFlow, clientMetadata, endFlow, type Flow } from '../accounts/oauth-flow.js';
import { FirstListing } from '../manager/first-listing.js';
import { RunningTools } from '../running/running-tools.js';

/** Path to which authorization servers redirect back. */
const callbackPath = '/accounts/callback';
/** Path of the client's metadata document. */
const documentPath = '/client-metadata.json';
/** Lifetime of a sign-in that has begun. */
const cookieSeconds = 600;
/** Max characters of a cookie, which browsers limit to 4 KiB. */
const maxCookie = 3_900;
/** The cookie of one sign-in, which binds the sign-in to the browser that began it. */
const cookieName = (state: string): string =>
  `toolkeeper_account_${createHash('sha256').update(state).digest('hex').slice(0, 16)}`;

/** State of a sign-in, encrypted in the browser's cookie. */
interface SignInState {
  readonly link: SignInLink;
  readonly flow: Flow;
  /** URL of the MCP server. The account is valid for this URL only. */
  readonly url: string;
  readonly endsAt: number;
}

type QueryMembers = Readonly<Record<string, unknown>>;

/** Pages on which a person signs in to an MCP server for the caller of a link. */
@ApiExcludeController()
@Controller()
@UseFilters(ProblemPage)
export class SignInController {
  private readonly states: SealedValues;

  constructor(
    private readonly accounts: Accounts,
    private readonly running: RunningTools,
    private readonly firstListing: FirstListing,
    private readonly sessions: Sessions,
    private readonly tokens: AccessTokens,
    keys: KeyRing,
  ) {
    this.states = new SealedValues(keys, 'account sign-in in a browser');
  }

  /** Client id metadata document of this server, for authorization servers. */
  @Get(documentPath)
  @Public()
  clientDocument(): object {
    return { client_id: `${this.accounts.base}${documentPath}`, ...clientMetadata(this.redirectUrl) };
  }

  /** Asks the person to confirm that the link is theirs, because somebody else may have sent it. */
  @Get(signInPath)
  @Public()
  async showSignIn(@Query() query: QueryMembers, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    const link = await this.linkOf(query, request);
    const linkParameter = String(query['link']);
    // Browsers send no session cookie on links from other sites, so the console checks the session and comes back.
    if (this.needsSession(link, request)) {
      const parameters = new URLSearchParams({ link: linkParameter });
      return reply.redirect(`${this.accounts.base}/console/settings/accounts?${String(parameters)}`, 302);
    }
    const { name } = await this.firstListing.serverOf(link.server);
    const state = randomBytes(32).toString('base64url');
    const user = escaped(link.userName);
    const next = new URLSearchParams({ link: linkParameter, state });
    // Shows the next step that this browser has opened the page.
    this.setCookie(reply, state, 'begun');
    return sendPage(
      reply,
      `Sign in to ${name}`,
      `${user} calls the MCP server ${escaped(name)} with an account of its own. Go on only if you are ${user} and ` +
        'asked for this: whoever gave you this page can act with the account that you sign in with.',
      `<a href="sign-in/go?${escaped(String(next))}">Sign in</a>`,
    );
  }

  /** Redirects to the authorization server. Reached from the page only, so that other sites cannot skip its question. */
  @Get(`${signInPath}/go`)
  @Public()
  async goToSignIn(@Query() query: QueryMembers, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    const link = await this.linkOf(query, request);
    const { state } = query;
    if (this.needsSession(link, request))
      throw new Problem('forbidden', `Sign in to the console as ${link.userName} first`);
    if (typeof state !== 'string' || cookieOf(state, request) === undefined)
      throw new Problem('forbidden', 'Open the link itself, and go on from its page');
    const server = await this.firstListing.serverOf(link.server);
    const flow: Flow = { state };
    const { base } = this.accounts;
    // A client id that is a URL must be one of https.
    const documentUrl = base.startsWith('https:') ? `${base}${documentPath}` : undefined;
    const wanted = { scope: link.scope, documentUrl };
    const location = await beginFlow(server, this.redirectUrl, flow, wanted).catch((error: unknown) => {
      throw new Problem('conflict', `${server.name} cannot be signed in to: ${messageOf(error)}`);
    });
    const endsAt = Date.now() + 1_000 * cookieSeconds;
    const value = this.states.seal({ link, flow, url: server.url.href, endsAt } satisfies SignInState);
    if (value.length > maxCookie)
      throw new Problem('conflict', `${server.name} has too much sign-in metadata for a cookie`);
    this.setCookie(reply, state, value);
    return reply.redirect(location.href, 302);
  }

  /** Stores the account after the authorization server has redirected back. */
  @Get(callbackPath)
  @Public()
  async endSignIn(@Query() query: QueryMembers, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    const { code, state, iss } = query;
    if (typeof state !== 'string') throw new Problem('invalid_request', 'state is missing');
    const { link, flow, url } = this.stateOf(state, request);
    this.setCookie(reply, state, '');
    const server = await this.firstListing.serverOf(link.server);
    if (typeof code !== 'string' || server.url.href !== url)
      throw new Problem('conflict', `The sign-in at ${server.name} was refused: start again`);
    const answer = { code, iss: typeof iss === 'string' ? iss : undefined };
    const grant = await endFlow(server, this.redirectUrl, flow, answer).catch((error: unknown) => {
      throw new Problem('conflict', `The sign-in at ${server.name} failed: ${messageOf(error)}`);
    });
    await this.accounts.save(server, link.user, grant);
    this.running.dropUser(server.name, link.user);
    const problem = await this.firstListing.approve(server.name, link.user);
    const user = escaped(link.userName);
    const name = escaped(server.name);
    const scope = problem && this.accounts.missingScopesOf(server, link.user);
    const linkAgain = scope && escaped(this.accounts.linkFor({ ...link, scope }));
    const next = scope
      ? `It asks for more scopes: <a href="${linkAgain}">sign in again</a> with ${escaped(scope)}.`
      : 'You can close this page.';
    return sendPage(
      reply,
      'Signed in',
      `${user} has an account at ${name} now.${problem === undefined ? '' : ` ${escaped(problem)}`}`,
      next,
    );
  }

  private get redirectUrl(): string {
    return `${this.accounts.base}${callbackPath}`;
  }

  /** The link in a query. @throws Problem `not_found`, `forbidden` */
  private async linkOf({ link: sealed }: QueryMembers, { headers }: FastifyRequest): Promise<SignInLink> {
    const link = await this.accounts.openLink(String(sealed));
    if (!link)
      throw new Problem('not_found', 'This link was used or has expired: call the tool again to get another');
    const session = this.sessions.find(headers);
    if (session && session.principal.keyId !== link.user)
      throw new Problem('forbidden', 'This link belongs to another caller than the one signed in here');
    return link;
  }

  /** Whether the link belongs to a user of the console and this browser has no session. */
  private needsSession({ user }: SignInLink, { headers }: FastifyRequest): boolean {
    const isPerson = this.tokens.consoles.some(({ settings }) => user.startsWith(`${settings.issuer}#`));
    return isPerson && !this.sessions.find(headers);
  }

  /** The state of a sign-in, from its cookie. @throws Problem `forbidden` */
  private stateOf(state: string, request: FastifyRequest): SignInState {
    const stored = this.states.open(cookieOf(state, request) ?? '') as SignInState | undefined;
    if (!stored || stored.flow.state !== state || stored.endsAt < Date.now())
      throw new Problem('forbidden', 'This sign-in began in another browser, or took too long: start again');
    return stored;
  }

  /** Sets the cookie of a sign-in. @param value empty: deletes the cookie */
  private setCookie(reply: FastifyReply, state: string, value: string): void {
    const { protocol, pathname } = new URL(`${this.accounts.base}/accounts`);
    const seconds = value === '' ? 0 : cookieSeconds;
    const secure = protocol === 'https:' ? '; Secure' : '';
    const attributes = `Path=${pathname}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
    void reply.header('set-cookie', `${cookieName(state)}=${value}; ${attributes}`);
  }
}

const cookieOf = (state: string, { headers }: FastifyRequest): string | undefined =>
  cookiesIn(headers.cookie, cookieName(state))[0];
