import { Body, Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiConsumes, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiProblems } from '../../rest/api-problems.decorator.js';
import { Example, Many, OptionalText, Text } from '../../rest/dto.js';
import { rawBodyOf } from '../../rest/raw-body.js';
import { Public } from '../scopes.decorator.js';
import { type CookieKind, setCookieHeader } from '../sessions.js';
import { ProviderClient } from './provider-client.js';
import { ProviderSessions } from './provider-sessions.js';

/** The cookie that carries a running sign-in at a provider. */
export const transactionCookie: CookieKind = { name: 'toolkeeper_sign_in', sameSite: 'Lax' };
const formType = 'application/x-www-form-urlencoded';

/** A provider at which people sign in. */
class ProviderView {
  @Example('https://login.example.com/realms/acme') readonly issuer!: string;
  @Example('login.example.com', 'Its name or its host') readonly name!: string;
}

class ProvidersView {
  @Many(ProviderView) readonly providers!: readonly ProviderView[];
}

class BeginBody {
  @Text(512, { example: 'https://login.example.com/realms/acme' }) readonly issuer!: string;
  @OptionalText(2_048, {
    example: '/console/tools',
    description: 'The path of the console to go to afterwards',
  })
  readonly to?: string;
}

class BegunView {
  @Example('https://login.example.com/auth?client_id=toolkeeper', 'Where the browser signs in')
  readonly url!: string;
}

/** Signs people in and out at the OpenID providers that have `console` in OIDC_ISSUERS. */
@ApiTags('session')
@ApiProblems('invalid_request')
@Controller('api/v1/session/providers')
export class ProvidersController {
  constructor(
    private readonly client: ProviderClient,
    private readonly sessions: ProviderSessions,
  ) {}

  @Get()
  @Public()
  @ApiOperation({
    summary: 'List the OpenID providers at which people sign in to the console',
    description: 'Empty unless an issuer in OIDC_ISSUERS has `console`.',
  })
  @ApiOkResponse({ type: ProvidersView })
  listProviders(): ProvidersView {
    const providers = this.client.issuers.map(({ settings: { issuer, console: client } }) => ({
      issuer,
      name: client?.name ?? new URL(issuer).host,
    }));
    return { providers };
  }

  @Post()
  @Public()
  @HttpCode(200)
  @ApiOperation({
    summary: 'Begin a sign-in at an OpenID provider',
    description:
      'Sets a cookie that holds the sign-in for five minutes. The provider sends the browser back to /console/sign-in, which completes it by `POST /api/v1/session`.',
  })
  @ApiOkResponse({ type: BegunView })
  @ApiProblems('not_found', 'tool_unavailable')
  async beginSignIn(
    @Body() { issuer, to }: BeginBody,
    @Req() { protocol }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<BegunView> {
    const { url, sealed, endsAt } = await this.client.begin(issuer, to);
    const cookie = setCookieHeader({ value: sealed, endsAt }, protocol, transactionCookie);
    void reply.headers({ 'set-cookie': cookie, 'cache-control': 'no-store' });
    return { url };
  }

  @Post('logout')
  @Public()
  @RouteConfig({ rawBody: { types: [formType], limit: 16_384 } })
  @HttpCode(200)
  @ApiOperation({
    summary: 'End the sessions that a provider ends (OpenID Connect Back-Channel Logout)',
    description:
      'Providers send a logout token. It ends the sessions of its `sid`, else those of its `sub`, at all replicas, and is taken once.',
  })
  @ApiConsumes(formType)
  @ApiBody({ schema: { type: 'object', properties: { logout_token: { type: 'string' } } } })
  @ApiOkResponse({ description: 'They have ended' })
  async endProviderSessions(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    void reply.header('cache-control', 'no-store');
    const token = new URLSearchParams(rawBodyOf(request).toString()).get('logout_token') ?? '';
    const by = { address: request.ip, requestId: request.id };
    await this.sessions.endAt(await this.client.logoutIn(token), by);
  }
}
