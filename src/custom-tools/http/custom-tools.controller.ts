import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, Req, Res } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Audited } from '../../auth/audit/audit.interceptor.js';
import { CurrentPrincipal } from '../../auth/principal.decorator.js';
import type { Readable } from 'node:stream';
import { Scopes } from '../../auth/scopes.decorator.js';
import { ApiProblems } from '../../rest/api-problems.decorator.js';
import type { Page } from '../../rest/page.js';
import type { Principal } from '../../tool-contract/principal.js';
import type { ToolOutcome } from '../../tool-contract/tool-outcome.js';
import { ApiExecute } from '../../tools/tools.dto.js';
import { ApiName, ApiNotGranted } from './api-name.decorator.js';
import {
  CustomToolHealthView,
  CustomToolPageView,
  CustomToolView,
  customToolView,
  ValidationView,
} from './custom-tool.dto.js';
import { type CustomToolHealth, Reconciler } from '../manager/reconciler.js';
import { CustomToolCreate, CustomToolUpdate, ListCustomToolsQuery } from '../manager/custom-tools.dto.js';
import { ToolsService } from '../../tools/tools.service.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import type { ToolValidation } from '../launch/tool-inspector.js';
import { CustomToolManager } from '../manager/custom-tool-manager.js';
import { RunningTools } from '../running/running-tools.js';
import { McpToolsService } from './mcp-tools.service.js';
import { ApproveBody, McpToolsView } from './mcp-tools.dto.js';

@ApiTags('custom-tools')
@Scopes('tools:admin')
@Audited('name')
@ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden')
@Controller('api/v1/custom-tools')
export class CustomToolsController {
  constructor(
    private readonly manager: CustomToolManager,
    private readonly reconciler: Reconciler,
    private readonly tools: ToolsService,
    private readonly running: RunningTools,
    private readonly servers: McpToolsService,
  ) {}

  @Get()
  @Scopes('metrics:read')
  @ApiOperation({
    summary: 'List all custom tools',
    description: 'Also those that are disabled or cannot be started; `status` selects.',
  })
  @ApiOkResponse({ type: CustomToolPageView })
  async listCustomTools(@Query() query: ListCustomToolsQuery): Promise<Page<CustomToolView>> {
    const { data, nextCursor } = await this.manager.list(query);
    const listed = (tool: CustomTool): CustomToolView => {
      const { metadata: _large, tools: _many, ...view } = this.view(tool);
      return view;
    };
    return { data: data.map(listed), nextCursor };
  }

  @Post()
  @ApiOperation({
    summary: 'Register an executable as a tool',
    description:
      'The executable is started and asked to `initialize` before anything is stored; what it answers fills version, description and input schema where the request leaves them out. It can be called as soon as this answers.',
  })
  @ApiCreatedResponse({ type: CustomToolView })
  @ApiNotGranted()
  @ApiProblems('conflict', 'payload_too_large', 'tool_unavailable')
  async registerCustomTool(
    @Body() body: CustomToolCreate,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<CustomToolView> {
    return this.view(await this.manager.register(body, { source: 'register', by: userId }));
  }

  @Get(':name')
  @Scopes('metrics:read')
  @ApiName()
  @ApiOperation({
    summary: 'Get custom tool details',
    description:
      'With its status and why, the sandbox tier that really holds, and what that tier does not enforce. Values of `env` are never shown.',
  })
  @ApiOkResponse({ type: CustomToolView })
  @ApiProblems('not_found')
  async getCustomTool(@Param('name') name: string): Promise<CustomToolView> {
    return this.view(await this.manager.get(name));
  }

  @Patch(':name')
  @ApiName()
  @ApiOperation({
    summary: 'Update custom tool',
    description:
      'Only the fields that are given change, and a new revision is made. Calls in flight end on the old one, later calls start on the new one.',
  })
  @ApiOkResponse({ type: CustomToolView })
  @ApiNotGranted()
  @ApiProblems('not_found', 'conflict', 'tool_unavailable')
  async updateCustomTool(
    @Param('name') name: string,
    @Body() body: CustomToolUpdate,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<CustomToolView> {
    return this.view(await this.manager.update(name, body, { source: 'patch', by: userId }));
  }

  @Delete(':name')
  @HttpCode(204)
  @ApiName()
  @ApiOperation({
    summary: 'Unregister custom tool',
    description:
      'Calls in flight end first. A tool that came from a file comes back only when that file changes.',
  })
  @ApiNoContentResponse({ description: 'Tool removed' })
  @ApiProblems('not_found')
  removeCustomTool(@Param('name') name: string): Promise<void> {
    return this.manager.remove(name);
  }

  @Post(':name/enable')
  @HttpCode(200)
  @ApiName()
  @ApiOperation({
    summary: 'Make a tool callable',
    description: 'Its processes are started; one whose status is `error` is tried again.',
  })
  @ApiOkResponse({ type: CustomToolView })
  @ApiNotGranted()
  @ApiProblems('not_found', 'tool_unavailable')
  async enableCustomTool(@Param('name') name: string): Promise<CustomToolView> {
    return this.view(await this.manager.enable(name));
  }

  @Post(':name/disable')
  @HttpCode(200)
  @ApiName()
  @ApiOperation({
    summary: 'Take a tool out of use, keeping its registration',
    description: 'Calls in flight end, later ones are refused with `tool_not_found`.',
  })
  @ApiOkResponse({ type: CustomToolView })
  @ApiProblems('not_found')
  async disableCustomTool(@Param('name') name: string): Promise<CustomToolView> {
    return this.view(await this.manager.disable(name));
  }

  @Post(':name/validate')
  @HttpCode(200)
  @ApiName()
  @ApiOperation({
    summary: 'Validate tool executable and schema',
    description:
      'Starts the executable once and compares what it answers with what is registered; nothing is changed.',
  })
  @ApiOkResponse({ type: ValidationView })
  @ApiProblems('not_found', 'tool_unavailable')
  validateCustomTool(@Param('name') name: string): Promise<ToolValidation> {
    return this.manager.validate(name);
  }

  @Get(':name/health')
  @Scopes('metrics:read')
  @ApiName()
  @ApiOperation({
    summary: 'Get tool health status',
    description: 'What its processes do now, and what the last health check found.',
  })
  @ApiOkResponse({ type: CustomToolHealthView })
  @ApiProblems('not_found')
  getCustomToolHealth(@Param('name') name: string): Promise<CustomToolHealth> {
    return this.reconciler.check(name);
  }

  @Post(':name/test')
  @HttpCode(200)
  @ApiName()
  @ApiOperation({
    summary: 'Execute tool with test input',
    description:
      'Also runs an inactive or cut-off tool; spends no budget and feeds neither grade nor circuit.',
  })
  @ApiExecute(
    { input: { text: '2026-01-23T10:30:00Z ERROR disk full\n2026-01-23T10:30:01Z INFO retry' } },
    'not_found',
  )
  testCustomTool(
    @Param('name') name: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ToolOutcome | Readable> {
    return this.tools.test((work) => this.manager.withTool(name, undefined, work), request, reply);
  }

  @Get(':name/tools')
  @ApiName('files')
  @ApiOperation({
    summary: "List an MCP server's tools, and which of them can be called",
    description:
      'Those that are held back or refused say why; of one that changed since it was approved, what changed.',
  })
  @ApiOkResponse({ type: McpToolsView })
  @ApiProblems('not_found')
  listMcpTools(@Param('name') name: string): Promise<McpToolsView> {
    return this.servers.list(name);
  }

  @Post(':name/approve')
  @HttpCode(200)
  @ApiName('files')
  @ApiOperation({
    summary: 'Approve the tools that an MCP server lists now',
    description: 'As a new revision; its processes go on.',
  })
  @ApiOkResponse({ type: CustomToolView })
  @ApiProblems('not_found', 'conflict', 'tool_unavailable')
  async approveMcpTools(
    @Param('name') name: string,
    @Body() body: ApproveBody,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<CustomToolView> {
    return this.view(await this.servers.approve(name, body, userId));
  }

  private view(tool: CustomTool): CustomToolView {
    return customToolView(tool, this.running);
  }
}
