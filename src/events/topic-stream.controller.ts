import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { Scopes } from '../auth/scopes.decorator.js';
import { ApiProblems } from '../rest/api-problems.decorator.js';
import { TopicsQuery } from './events.dto.js';
import { TopicStreamService } from './topic-stream.service.js';

const example = [
  'id: events=mhq3k2x19f2c6b01-42,logs:log_summary=mhq3k2x1-7',
  'event: log',
  'data: {"id":"mhq3k2x1-7","timestamp":"2026-01-23T10:30:00.000Z","level":"info","tool":"log_summary","event":"stderr","message":"3 lines had no time"}',
  '',
  '',
].join('\n');

@ApiTags('events')
// Each topic asks for a scope of its own.
@Scopes()
@Controller('api/v1/console/stream')
export class TopicStreamController {
  constructor(private readonly service: TopicStreamService) {}

  @Get()
  @ApiHeader({ name: 'last-event-id', required: false, description: 'Where a stream goes on after a break' })
  @ApiOperation({
    summary: 'Follow several things in one stream',
    description:
      'What `GET /api/v1/events` and `GET /api/v1/custom-tools/{name}/logs` stream one by one, as events of the same names; `events` needs the scope `metrics:read`, `logs:<tool>` needs `tools:admin`, and `spans`, which says twice a second at most how many came in for a project, `traces:read`. Beside them come `missed`, `reset` and `closed` (the tool was removed), each with its `topic`, and `end`.',
  })
  @ApiOkResponse({ content: { 'text/event-stream': { schema: { type: 'string' }, example } } })
  @ApiProblems(
    ...(['invalid_request', 'not_found', 'rate_limited', 'shutting_down', 'database_unavailable'] as const),
    ...(['unauthorized', 'forbidden'] as const),
  )
  followTopics(
    @Query() query: TopicsQuery,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Readable> {
    return this.service.follow(query, request, reply);
  }
}
