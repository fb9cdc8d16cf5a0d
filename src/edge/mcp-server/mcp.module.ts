import { Controller, Delete, Get, HttpCode, Module, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { McpAnswer } from './mcp-methods.js';
import type { Readable } from 'node:stream';
import { PlaybooksModule } from '../../agents/playbooks/playbooks.module.js';
import { ToolsModule } from '../../call/door/tools.module.js';
import { McpAsks } from './mcp-asks.js';
import { McpCalls } from './mcp-calls.js';
import { McpCatalogue } from './mcp-catalogue.js';
import { McpService } from './mcp.service.js';
import { McpSkills } from './mcp-skills.js';
import { McpTasks } from './mcp-tasks.js';
import { McpStreams } from './mcp-streams.js';
import { OffersController } from './offers.controller.js';
import { ServerOffers } from './server-offers.js';
import { VirtualServers } from './virtual-servers.js';
import { VirtualServersController } from './virtual-servers.controller.js';
import { AuthModule } from '../../web/auth/auth.module.js';
import { Scopes } from '../../web/auth/scopes.decorator.js';
import { Problem } from '../../base/common/errors.js';
import { unreadableBody } from './mcp-messages.js';

/** `/mcp` for all tools, `/mcp/<name>` for virtual servers. */
const paths = ['', ':server'];

/** MCP over Streamable HTTP. Not in OpenAPI, because MCP specifies its messages. */
@ApiExcludeController()
@Scopes('tools:call')
@Controller('mcp')
export class McpController {
  constructor(
    private readonly service: McpService,
    private readonly servers: VirtualServers,
  ) {}

  @Post(paths)
  @HttpCode(200)
  @RouteConfig({ errorBody: unreadableBody })
  post(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<McpAnswer> {
    return this.service.answer(this.servers.enter(request), reply);
  }

  @Get(paths)
  get(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Readable {
    return this.service.follow(this.servers.enter(request), reply);
  }

  /** Refused, because the server has no sessions to end. */
  @Delete(paths)
  delete(): never {
    throw new Problem('invalid_request', 'This server keeps no sessions', {
      status: 405,
      headers: { allow: 'GET, POST' },
    });
  }
}

/** The tools of the registry as an MCP server. */
@Module({
  imports: [ToolsModule, PlaybooksModule, AuthModule],
  controllers: [McpController, OffersController, VirtualServersController],
  providers: [
    McpService,
    McpStreams,
    McpAsks,
    McpCalls,
    McpCatalogue,
    McpSkills,
    McpTasks,
    ServerOffers,
    VirtualServers,
  ],
})
export class McpModule {}
