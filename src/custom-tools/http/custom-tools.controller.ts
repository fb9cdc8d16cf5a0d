import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, Req, Res } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Audited } from '../../auth/audit/audited.decorator.js';
import { CurrentPrincipal } from '../../auth/principal.decorator.js';
import type { Readable } from 'node:stream';
import { Scopes } from '../../auth/scopes.decorator.js';
import { ApiProblems } from '../../common/api-problems.decorator.js';
import type { Page } from '../../common/page.js';
import type { Principal } from '../../tool-contract/principal.js';
import type { ToolOutcome } from '../../tool-contract/tool-outcome.js';
import { ApiExecute } from '../../tools/api-execute.decorator.js';
import { ApiName, ApiNotGranted } from './api-name.decorator.js';
import {
  CustomToolView,
  CustomToolHealthView,
  CustomToolPageView,
  ValidationView,
} from './custom-tool.shapes.js';
import type { CustomToolHealth } from '../manager/reconciler.js';
import { CustomToolCreate, CustomToolUpdate, ListCustomToolsQuery } from '../manager/custom-tools.shapes.js';
import { CustomToolsService } from './custom-tools.service.js';

@ApiTags('custom-tools')
@Scopes('tools:admin')
@Audited('name')
@ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden')
@Controller('api/v1/custom-tools')
export class CustomToolsController {
  constructor(private readonly service: CustomToolsService) {}

  @Get()
  @Scopes('metrics:read')
  @ApiOperation({
    summary: 'List all custom tools',
    description: 'Also those that are disabled or cannot be started; `status` selects.',
  })
  @ApiOkResponse({ type: CustomToolPageView })
  listCustomTools(@Query() query: ListCustomToolsQuery): Promise<Page<CustomToolView>> {
    return this.service.list(query);
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
  registerCustomTool(
    @Body() body: CustomToolCreate,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<CustomToolView> {
    return this.service.register(body, userId);
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
  getCustomTool(@Param('name') name: string): Promise<CustomToolView> {
    return this.service.get(name);
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
  updateCustomTool(
    @Param('name') name: string,
    @Body() body: CustomToolUpdate,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<CustomToolView> {
    return this.service.update(name, body, userId);
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
    return this.service.remove(name);
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
  enableCustomTool(@Param('name') name: string): Promise<CustomToolView> {
    return this.service.enable(name);
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
  disableCustomTool(@Param('name') name: string): Promise<CustomToolView> {
    return this.service.disable(name);
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
  validateCustomTool(@Param('name') name: string): Promise<{ valid: boolean; errors: string[] }> {
    return this.service.validate(name);
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
    return this.service.health(name);
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
    'invalid_input',
    'payload_too_large',
    'queue_full',
    'tool_unavailable',
    'recorder_full',
    'shutting_down',
  )
  testCustomTool(
    @Param('name') name: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ToolOutcome | Readable> {
    return this.service.test(name, request, reply);
  }
}
