import {
  applyDecorators,
  Body,
  Controller,
  Get,
  HttpCode,
  Param,
  Post,
  Query,
  Req,
  Res,
} from '@nestjs/common';
import {
  ApiConsumes,
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
import { ApiProblems } from '../../rest/api-problems.decorator.js';
import { ApiName } from './api-name.decorator.js';
import { ApiArchive, bundleTypes } from './bundle-body.js';
import { BundleTrialQuery, TrialView, TryChangeBody, TryToolBody } from './tool-trials.dto.js';
import { LogPageView, LogsQuery } from './tool-logs.dto.js';
import { ToolLogsService } from './tool-logs.service.js';
import { ToolTrialsService } from './tool-trials.service.js';

const stream =
  'event: log\ndata: {"id":"mhq3k2x1-1","timestamp":"2026-01-23T10:30:00.000Z","level":"info","tool":"word_count","event":"stderr","pid":4711,"message":"loading"}\n\n' +
  'event: trial\ndata: {"handshake":{"name":"word_count"},"differences":[],"outcome":null}\n\n';

const logStream = [
  'id: mhq3k2x1-42',
  'event: log',
  'data: {"id":"mhq3k2x1-42","timestamp":"2026-01-23T10:30:00.000Z","level":"info","tool":"log_summary","event":"stderr","pid":4711,"message":"3 lines had no time"}',
  '',
  '',
].join('\n');

const ApiTrial = (): MethodDecorator =>
  applyDecorators(
    HttpCode(200),
    ApiExtraModels(TrialView),
    ApiOkResponse({
      description:
        'It is a tool. As events: any number of `log` while it writes, then one `trial`, or one `problem`',
      content: {
        'application/json': { schema: { $ref: getSchemaPath(TrialView) } },
        'text/event-stream': { schema: { type: 'string' }, example: stream },
      },
    }),
    ApiProblems(
      ...(['conflict', 'payload_too_large', 'tool_unavailable', 'invalid_input', 'queue_full'] as const),
      ...(['recorder_full', 'shutting_down'] as const),
    ),
  );

/** Dry runs, and what tools write. */
@ApiTags('custom-tools')
@Scopes('tools:admin')
@ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden')
@Controller('api/v1/custom-tools')
export class ToolTrialsController {
  constructor(
    private readonly service: ToolTrialsService,
    private readonly logs: ToolLogsService,
  ) {}

  @Post('try')
  @ApiOperation({
    summary: 'Try a registration without registering anything',
    description:
      'The executable is started and asked as for a registration, under the same rules and in the same sandbox, and called once if `call` is given. What a registration would be refused with refuses the trial. Nothing of the tool is stored; the call is recorded as a trial (`test`).',
  })
  @ApiTrial()
  tryCustomTool(
    @Body() body: TryToolBody,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<TrialView> | Readable {
    return this.service.register(body, request, reply);
  }

  @Post(':name/bundle/try')
  @ApiName('word_count')
  @ApiConsumes(...bundleTypes)
  @ApiArchive()
  @ApiOperation({
    summary: 'Try a bundle without registering anything',
    description:
      'As `POST /api/v1/custom-tools/try`, with the files of `POST /api/v1/custom-tools/{name}/bundle`, or of `PUT` where there is such a tool. They are forgotten within hours where nothing registers them.',
  })
  @ApiTrial()
  tryToolBundle(
    @Param('name') name: string,
    @Query() query: BundleTrialQuery,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<TrialView> | Readable {
    return this.service.bundle(name, query, request, reply);
  }

  @Post(':name/try')
  @ApiName()
  @ApiOperation({
    summary: 'Try a change without changing anything',
    description:
      'As `POST /api/v1/custom-tools/try`, with the registered tool and the fields that are given. Calls meanwhile run what is registered.',
  })
  @ApiTrial()
  @ApiProblems('not_found')
  tryCustomToolChange(
    @Param('name') name: string,
    @Body() body: TryChangeBody,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<TrialView> | Readable {
    return this.service.change(name, body, request, reply);
  }

  @Get(':name/logs')
  @ApiName()
  @ApiHeader({ name: 'last-event-id', required: false, description: 'Where a stream goes on after a break' })
  @ApiOperation({
    summary: "Read a tool's log, or follow it",
    description:
      'Output of the tool on stderr, unparsed output on stdout, and starts and ends of its processes, as this server keeps them in memory. Secrets that the server knows are redacted. It needs the scope `tools:admin`, because a tool may write other secrets. With `Accept: text/event-stream` the log is followed: events `log`, `missed` (entries that had to make room before they were read) and `end`.',
  })
  @ApiExtraModels(LogPageView)
  @ApiOkResponse({
    description: 'A page, or a stream of events',
    content: {
      'application/json': { schema: { $ref: getSchemaPath(LogPageView) } },
      'text/event-stream': { schema: { type: 'string' }, example: logStream },
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
    return this.logs.read(name, query, request, reply);
  }
}
