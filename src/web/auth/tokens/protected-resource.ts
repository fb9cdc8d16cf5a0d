import { Controller, Get, Header, HttpCode, Inject, Options, Req } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { Problem } from '../../../base/common/errors.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { AccessPolicy, resourceMetadata } from '../access-policy.js';
import { Public } from '../scopes.decorator.js';
import { facadeMetadata } from './facade.controller.js';

/** Tells MCP clients where they get an access token (RFC 9728, which describes the answer). */
@ApiExcludeController()
@Controller()
export class ProtectedResourceController {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth'>,
    private readonly policy: AccessPolicy,
  ) {}

  /** Agents in a browser ask this first, here and at the facade: they send `mcp-protocol-version` and JSON. */
  @Options([`${resourceMetadata}/mcp`, resourceMetadata, ...facadeMetadata, 'oauth/register', 'oauth/token'])
  @Public()
  @HttpCode(204)
  @Header('access-control-allow-origin', '*')
  @Header('access-control-allow-methods', 'GET, POST')
  @Header('access-control-allow-headers', '*')
  @Header('access-control-max-age', '86400')
  askBeforeGet(): void {
    // The headers are the answer.
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
