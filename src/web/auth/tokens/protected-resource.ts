import { Controller, Get, Header, HttpCode, Inject, Options, Req } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { Problem } from '../../../base/common/errors.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { AccessPolicy, resourceMetadata } from '../access-policy.js';
import { Public } from '../scopes.decorator.js';
import { facadeMetadata } from './facade.controller.js';

/** Names the authorization server to MCP clients (RFC 9728). */
@ApiExcludeController()
@Controller()
export class ProtectedResourceController {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth'>,
    private readonly policy: AccessPolicy,
  ) {}

  /** Answers CORS preflights of agents in browsers, which send `mcp-protocol-version` and JSON; also for the facade. */
  @Options([`${resourceMetadata}/mcp`, resourceMetadata, ...facadeMetadata, 'oauth/register', 'oauth/token'])
  @Public()
  @HttpCode(204)
  @Header('access-control-allow-origin', '*')
  @Header('access-control-allow-methods', 'GET, POST')
  @Header('access-control-allow-headers', '*')
  @Header('access-control-max-age', '86400')
  preflight(): void {
    // The answer has headers only.
  }

  @Get([`${resourceMetadata}/mcp`, resourceMetadata])
  @Public()
  @Header('access-control-allow-origin', '*')
  getProtectedResource(@Req() request: FastifyRequest): object {
    const { issuers } = this.config.auth;
    if (issuers.length === 0) throw new Problem('not_found', 'This server takes no access tokens');
    const base = this.policy.baseUrl(request);
    if (base === undefined)
      throw new Problem(
        'not_found',
        'The address of this server is not known: set PUBLIC_URL or ALLOWED_HOSTS',
      );
    return {
      resource: `${base}/mcp`,
      authorization_servers: [...new Set(issuers.map(({ issuer, facade }) => (facade ? base : issuer)))],
      scopes_supported: ['tools:call'],
      bearer_methods_supported: ['header'],
      resource_name: 'Toolkeeper',
    };
  }
}
