import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, Req, Res } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CurrentPrincipal } from '../../auth/principal.decorator.js';
import type { Readable } from 'node:stream';
import { Scopes } from '../../auth/scopes.decorator.js';
import { ApiProblems } from '../../common/api-problems.decorator.js';
import type { Page } from '../../common/page.js';
import type { Principal } from '../../tool-contract/tool-call.js';
import type { ToolOutcome } from '../../tool-contract/tool-outcome.js';
import { ApiExecute } from '../../tools/api-execute.decorator.js';
import {
  CustomToolBody,
  CustomToolHealthBody,
  CustomToolListBody,
  ValidationBody,
} from './custom-tool.view.js';
import type { CustomToolHealth } from '../manager/reconciler.js';
import { CustomToolCreate, CustomToolUpdate, ListCustomToolsQuery } from '../manager/custom-tools.dto.js';
import { CustomToolsService } from './custom-tools.service.js';

const ApiName = (): MethodDecorator => ApiParam({ name: 'name', example: 'log_summary' });

@ApiTags('custom-tools')
@Scopes('tools:admin')
@ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden')
@Controller('api/v1/custom-tools')
export class CustomToolsController {
  constructor(private readonly service: CustomToolsService) {}

  @Get()
  @Scopes('tools:call')
  @ApiOperation({
    summary: 'List all custom tools',
    description: 'Also those that are disabled or cannot be started; `status` selects.',
    operationId: 'listCustomTools',
  })
  @ApiOkResponse({ type: CustomToolListBody })
  list(@Query() query: ListCustomToolsQuery): Promise<Page<CustomToolBody>> {
    return this.service.list(query);
  }

  @Post()
  @ApiOperation({
    summary: 'Register an executable as a tool',
    description:
      'The executable is started and asked to `initialize` before anything is stored; what it answers fills version, description and input schema where the request leaves them out. It can be called as soon as this answers.',
    operationId: 'registerCustomTool',
  })
  @ApiCreatedResponse({ type: CustomToolBody })
  @ApiProblems('conflict', 'payload_too_large', 'tool_unavailable')
  register(
    @Body() body: CustomToolCreate,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<CustomToolBody> {
    return this.service.register(body, userId);
  }

  @Get(':name')
  @Scopes('tools:call')
  @ApiName()
  @ApiOperation({
    summary: 'Get custom tool details',
    description:
      'With its status and why, the sandbox tier that really holds, and what that tier does not enforce. Values of `env` are never shown.',
    operationId: 'getCustomTool',
  })
  @ApiOkResponse({ type: CustomToolBody })
  @ApiProblems('not_found')
  get(@Param('name') name: string): Promise<CustomToolBody> {
    return this.service.get(name);
  }

  @Patch(':name')
  @ApiName()
  @ApiOperation({
    summary: 'Update custom tool',
    description:
      'Only the fields that are given change, and a new revision is made. Calls in flight end on the old one, later calls start on the new one.',
    operationId: 'updateCustomTool',
  })
  @ApiOkResponse({ type: CustomToolBody })
  @ApiProblems('not_found', 'conflict', 'tool_unavailable')
  update(
    @Param('name') name: string,
    @Body() body: CustomToolUpdate,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<CustomToolBody> {
    return this.service.update(name, body, userId);
  }

  @Delete(':name')
  @HttpCode(204)
  @ApiName()
  @ApiOperation({
    summary: 'Unregister custom tool',
    description:
      'Calls in flight end first. A tool that came from a file comes back only when that file changes.',
    operationId: 'removeCustomTool',
  })
  @ApiNoContentResponse({ description: 'Tool removed' })
  @ApiProblems('not_found')
  remove(@Param('name') name: string): Promise<void> {
    return this.service.remove(name);
  }

  @Post(':name/enable')
  @HttpCode(200)
  @ApiName()
  @ApiOperation({
    summary: 'Make a tool callable',
    description: 'Its processes are started; one whose status is `error` is tried again.',
    operationId: 'enableCustomTool',
  })
  @ApiOkResponse({ type: CustomToolBody })
  @ApiProblems('not_found', 'tool_unavailable')
  enable(@Param('name') name: string): Promise<CustomToolBody> {
    return this.service.enable(name);
  }

  @Post(':name/disable')
  @HttpCode(200)
  @ApiName()
  @ApiOperation({
    summary: 'Take a tool out of use, keeping its registration',
    description: 'Calls in flight end, later ones are refused with `tool_not_found`.',
    operationId: 'disableCustomTool',
  })
  @ApiOkResponse({ type: CustomToolBody })
  @ApiProblems('not_found')
  disable(@Param('name') name: string): Promise<CustomToolBody> {
    return this.service.disable(name);
  }

  @Post(':name/validate')
  @HttpCode(200)
  @ApiName()
  @ApiOperation({
    summary: 'Validate tool executable and schema',
    description:
      'Starts the executable once and compares what it answers with what is registered; nothing is changed.',
    operationId: 'validateCustomTool',
  })
  @ApiOkResponse({ type: ValidationBody })
  @ApiProblems('not_found', 'tool_unavailable')
  validate(@Param('name') name: string): Promise<{ valid: boolean; errors: string[] }> {
    return this.service.validate(name);
  }

  @Get(':name/health')
  @Scopes('tools:call')
  @ApiName()
  @ApiOperation({
    summary: 'Get tool health status',
    description: 'What its processes do now, and what the last health check found.',
    operationId: 'getCustomToolHealth',
  })
  @ApiOkResponse({ type: CustomToolHealthBody })
  @ApiProblems('not_found')
  health(@Param('name') name: string): Promise<CustomToolHealth> {
    return this.service.health(name);
  }

  @Post(':name/test')
  @HttpCode(200)
  @ApiName()
  @ApiOperation({
    summary: 'Execute tool with test input',
    description:
      'Also runs an inactive or cut-off tool; spends no budget and feeds neither grade nor circuit.',
    operationId: 'testCustomTool',
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
  test(
    @Param('name') name: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ToolOutcome | Readable> {
    return this.service.test(name, request, reply);
  }
}
