import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { Scopes } from '../../auth/scopes.decorator.js';
import { ApiProblems } from '../../common/api-problems.decorator.js';
import { ApiName } from './api-name.decorator.js';
import { LogPageView, LogsQuery } from './tool-logs.shapes.js';
import { ToolLogsService } from './tool-logs.service.js';

const stream = [
  'id: mhq3k2x1-42',
  'event: log',
  'data: {"id":"mhq3k2x1-42","timestamp":"2026-01-23T10:30:00.000Z","level":"info","tool":"log_summary","event":"stderr","pid":4711,"message":"3 lines had no time"}',
  '',
  '',
].join('\n');

@ApiTags('custom-tools')
@Scopes('tools:admin')
@Controller('api/v1/custom-tools')
export class ToolLogsController {
  constructor(private readonly service: ToolLogsService) {}

  @Get(':name/logs')
  @ApiName()
  @ApiHeader({ name: 'last-event-id', required: false, description: 'Where a stream goes on after a break' })
  @ApiOperation({
    summary: "Read a tool's log, or follow it",
    description:
      'What the tool wrote to stderr, stray lines on stdout, and what happened to its processes, as kept in memory by this server; secrets that the server knows are taken out. It needs the scope `tools:admin`: what a tool writes may hold others. With `Accept: text/event-stream` the log is followed: events `log`, `missed` (entries that had to make room before they were read) and `end`.',
  })
  @ApiExtraModels(LogPageView)
  @ApiOkResponse({
    description: 'A page, or a stream of events',
    content: {
      'application/json': { schema: { $ref: getSchemaPath(LogPageView) } },
      'text/event-stream': { schema: { type: 'string' }, example: stream },
    },
  })
  @ApiProblems(
    'not_found',
    'invalid_request',
    'rate_limited',
    'shutting_down',
    'database_unavailable',
    'unauthorized',
    'forbidden',
  )
  getCustomToolLogs(
    @Param('name') name: string,
    @Query() query: LogsQuery,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<LogPageView | Readable> {
    return this.service.read(name, query, request, reply);
  }
}
