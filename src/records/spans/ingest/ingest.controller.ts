import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import {
  ApiBody,
  ApiExcludeEndpoint,
  ApiExtraModels,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Scopes } from '../../../auth/scopes.decorator.js';
import { ApiProblems } from '../../../rest/api-problems.decorator.js';
import { settings } from '../../../config/settings.js';
import { IngestService } from './ingest.service.js';
import { exampleSpan, TakenSpansView, VlloraSpanBody } from './ingest.dto.js';
import { otlpError, protobufType } from './otlp-answers.js';

const limit = settings.spans.maxBodyBytes;

@ApiTags('traces')
@Scopes('traces:write')
@Controller()
export class IngestController {
  constructor(private readonly service: IngestService) {}

  /** Described by OTLP, not by OpenAPI. */
  @Post('v1/traces')
  @HttpCode(200)
  @ApiExcludeEndpoint()
  @RouteConfig({ rawBody: { types: ['application/json', protobufType], limit }, errorBody: otlpError })
  postTraces(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    return this.service.otlp(request, reply);
  }

  @Post('api/v1/spans')
  @HttpCode(200)
  @RouteConfig({ rawBody: { types: ['application/json'], limit } })
  @ApiOperation({
    summary: 'Send spans in the form of vLLora',
    description:
      'One span, a list of them, or the envelope `{data: [...]}` of a list; gzip is taken. A span that came before is ' +
      'changed by a later finish alone, so that a batch may be sent again. OTLP goes to `/v1/traces`.',
  })
  @ApiHeader({ name: 'x-project-id', required: false, description: "One of the key's projects" })
  @ApiExtraModels(VlloraSpanBody)
  @ApiBody({
    schema: {
      oneOf: [
        { type: 'array', items: { $ref: getSchemaPath(VlloraSpanBody) } },
        { $ref: getSchemaPath(VlloraSpanBody) },
      ],
      example: [exampleSpan],
    },
  })
  @ApiOkResponse({ type: TakenSpansView })
  @ApiProblems(
    'invalid_request',
    'payload_too_large',
    'rate_limited',
    'spans_full',
    'shutting_down',
    'unauthorized',
    'forbidden',
  )
  postSpans(@Req() request: FastifyRequest): Promise<TakenSpansView> {
    return this.service.vllora(request);
  }
}
