import { Body, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  OmitType,
  PartialType,
} from '@nestjs/swagger';
import { ReasonQuery } from '../../web/auth/audit/audit.dto.js';
import { Audited } from '../../web/auth/audit/audit.interceptor.js';
import { ApiRoutes } from '../../web/auth/scopes.decorator.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import * as dto from '../../web/rest/dto.js';
import { pageOf } from '../../web/rest/page.js';
import type { Member, VirtualServer } from './virtual-server.js';
import { VirtualServers } from './virtual-servers.js';

/** Pattern of the names of virtual servers and of their members. */
const namePattern = '^[A-Za-z0-9_.-]+$';

class ServerParams {
  @dto.AnyText({ maxLength: 64, example: 'support' }) readonly name!: string;
}

class MemberBody implements Member {
  @dto.OptionalText(128, { example: 'crm__search' }) readonly tool?: string;
  @dto.OptionalText(256, { example: 'files__greet' }) readonly prompt?: string;
  @dto.OptionalText(8_192, { example: 'file:///a.md' }) readonly resource?: string;
  @dto.OptionalText(128, { example: 'support' }) readonly tag?: string;
  @dto.OptionalText(128, { example: 'files' }) readonly server?: string;
  @dto.OptionalText(128, { example: 'find', pattern: namePattern, description: 'Its name in this server' })
  readonly as?: string;
  @dto.OptionalText(4_096, { example: 'Finds a customer' }) readonly description?: string;
}

class McpServerBody {
  @dto.Text(64, { pattern: namePattern, example: 'support', description: 'It is served at `/mcp/<name>`' })
  readonly name!: string;
  @dto.NestedList(MemberBody, 1_000, {
    minItems: 1,
    example: [{ tool: 'crm__search', as: 'find' }, { tag: 'support' }, { server: 'files' }],
    description:
      'Each names a tool, prompt or resource as `/mcp` lists it; or a tag or MCP server, for everything of it',
  })
  readonly members!: MemberBody[];
  @dto.OptionalText(8_000, {
    nullable: true,
    description: 'Instructions for models; absent or null: those of its MCP servers',
  })
  readonly instructions?: string | null;
}

class UpdateMcpServerBody extends PartialType(OmitType(McpServerBody, ['name'] as const), {
  skipNullProperties: false,
}) {}

@dto.SentBackBy(UpdateMcpServerBody)
class McpServerView extends McpServerBody {
  @dto.Texts(['find'], 'Names of its tools in this server') readonly tools!: readonly string[];
  @dto.Texts(['later'], 'Tools among its members that do not exist at present')
  readonly missing!: readonly string[];
}

class McpServerPageView extends dto.PageOf(McpServerView) {}

/** Manages virtual MCP servers: sets of tools, resources and prompts with their own addresses. */
@ApiRoutes('api/v1/mcp-servers', 'tools', 'tools:admin')
@Audited(
  'name',
  async (modules, params) => modules.get(VirtualServers, { strict: false }).get(params['name'] ?? '').stored,
)
export class VirtualServersController {
  constructor(private readonly servers: VirtualServers) {}

  @Post()
  @ApiOperation({ summary: 'Make a virtual MCP server: a set of tools at `/mcp/<name>`' })
  @ApiCreatedResponse({ type: McpServerView })
  @ApiProblems('conflict')
  async createMcpServer(@Body() body: McpServerBody): Promise<McpServerView> {
    return viewOf(await this.servers.save(body, { isNew: true }));
  }

  @Get()
  @ApiOperation({ summary: 'List the virtual MCP servers' })
  @ApiOkResponse({ type: McpServerPageView })
  listMcpServers(@Query() { limit, cursor }: dto.PageQuery): McpServerPageView {
    return pageOf(this.servers.all().map(viewOf), (server) => server.name, limit, cursor);
  }

  @Get(':name')
  @ApiOperation({ summary: 'Show a virtual MCP server' })
  @ApiOkResponse({ type: McpServerView })
  @ApiProblems('not_found')
  getMcpServer(@Param() params: ServerParams): McpServerView {
    return viewOf(this.servers.get(params.name));
  }

  @Patch(':name')
  @ApiOperation({ summary: 'Change a virtual MCP server' })
  @ApiOkResponse({ type: McpServerView })
  @ApiProblems('not_found', 'conflict')
  async updateMcpServer(
    @Param() params: ServerParams,
    @Body() body: UpdateMcpServerBody,
  ): Promise<McpServerView> {
    const { stored } = this.servers.get(params.name);
    return viewOf(await this.servers.save({ ...stored, ...body }, { isNew: false }));
  }

  @Delete(':name')
  @HttpCode(204)
  @ApiOperation({ summary: 'Delete a virtual MCP server; its tools stay' })
  @ApiNoContentResponse({ description: 'Its address answers 404' })
  @ApiProblems('not_found')
  deleteMcpServer(@Param() params: ServerParams, @Query() _why: ReasonQuery): Promise<void> {
    return this.servers.delete(params.name);
  }
}

const viewOf = ({ stored, contents: { tools, missing } }: VirtualServer): McpServerView => ({
  ...stored,
  tools: [...tools.keys()].sort(),
  missing,
});
