import { Controller, HttpCode, Injectable, Post, Req, Res } from '@nestjs/common';
import {
  ApiBody,
  ApiExcludeEndpoint,
  ApiExtraModels,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  ApiPropertyOptional,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import { RouteConfig } from '@nestjs/platform-fastify';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Counter } from 'prom-client';
import protobuf from 'protobufjs/minimal.js';
import { CallRates } from '../../../web/auth/call-rates.js';
import { holderIn, principalOf, projectOf } from '../../../web/auth/principal.decorator.js';
import { Scopes } from '../../../web/auth/scopes.decorator.js';
import { errorTable, Problem } from '../../../base/common/errors.js';
import { Example, OptionalExample } from '../../../web/rest/dto.js';
import { ApiProblems } from '../../../web/rest/api-problems.decorator.js';
import { asProblem, type OwnErrorBody } from '../../../web/rest/problem.filter.js';
import { rawBodyOf } from '../../../web/rest/raw-body.js';
import { settings } from '../../../base/config/settings.js';
import { SpanRetention } from '../span-retention.js';
import { SpanIngest, type Taken } from './span-ingest.js';
import type { SpanBatch } from './ingest.worker.js';

const microseconds = 'Microseconds since 1970';

const exampleSpan = {
  trace_id: '7bba9f33312b3dbb8b2c2c62bb7abe2d',
  span_id: '086e83747d0e381e',
  parent_span_id: null,
  thread_id: 'thread-1',
  run_id: 'run-1',
  operation_name: 'api_invoke',
  start_time_us: 1_769_164_200_000_000,
  finish_time_us: 1_769_164_201_500_000,
  attribute: { model_name: 'gpt-4o', cost: 0.0021, usage: { input_tokens: 512, output_tokens: 64 } },
};

/** A span in vLLora's format. Other members are ignored. */
class VlloraSpanBody {
  @Example(exampleSpan.trace_id) readonly trace_id!: string;
  @Example(exampleSpan.span_id) readonly span_id!: string;
  @ApiPropertyOptional({ type: String, nullable: true }) readonly parent_span_id?: string | null;
  @ApiPropertyOptional({ type: String, nullable: true, example: 'thread-1' }) readonly thread_id?:
    string | null;
  @ApiPropertyOptional({ type: String, nullable: true, example: 'run-1' }) readonly run_id?: string | null;
  @Example(exampleSpan.operation_name) readonly operation_name!: string;
  @Example(exampleSpan.start_time_us, microseconds) readonly start_time_us!: number;
  @Example(exampleSpan.finish_time_us, microseconds) readonly finish_time_us!: number;
  @ApiPropertyOptional({ type: 'object', additionalProperties: true, example: exampleSpan.attribute })
  readonly attribute?: object;
}

/** The result of a batch of spans. */
class TakenSpansView {
  @Example(2, 'Number of spans that are stored durably') readonly taken!: number;
  @Example(0, 'Number of spans that were rejected; to send them again would not help')
  readonly rejected!: number;
  @OptionalExample('Span 3 of the batch: its trace id is missing or invalid') readonly reason?: string;
}

const jsonType = 'application/json';
const protobufType = 'application/x-protobuf';
const maxBodyBytes = settings.spans.maxBodyBytes;

/** Limits a key's batches of spans to the rate of its calls. Batches and calls are counted separately. */
@Injectable()
export class BatchRates extends CallRates {
  protected override readonly counted = 'batches';
}

/** Takes batches of spans over HTTP. */
@ApiTags('traces')
@Scopes('traces:write')
@Controller()
export class IngestController {
  constructor(
    private readonly ingest: SpanIngest,
    private readonly retention: SpanRetention,
    private readonly rates: BatchRates,
    @InjectMetric('toolkeeper_spans_taken_total') private readonly taken: Counter,
    @InjectMetric('toolkeeper_spans_rejected_total') private readonly rejected: Counter,
    @InjectMetric('toolkeeper_span_batches_refused_total') private readonly refused: Counter,
  ) {}

  /** The route of OTLP/HTTP, which OTLP specifies. So it is not in openapi.json. */
  @Post('v1/traces')
  @HttpCode(200)
  @ApiExcludeEndpoint()
  @RouteConfig({ rawBody: { types: [jsonType, protobufType], limit: maxBodyBytes }, errorBody: otlpError })
  async postTraces(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    const result = await this.take(request, isProtobuf(request) ? 'otlp-protobuf' : 'otlp-json');
    const { type, body } = otlpAnswer(request, result);
    void reply.header('content-type', type);
    return Buffer.from(body);
  }

  @Post('api/v1/spans')
  @HttpCode(200)
  @RouteConfig({ rawBody: { types: [jsonType], limit: maxBodyBytes } })
  @ApiOperation({
    summary: 'Send spans in the format of vLLora',
    description:
      'One span, a list of spans, or the envelope `{data: [...]}` of a list; gzip is accepted. A span that exists is ' +
      'replaced only by one that finishes later, so that a batch may be sent again. OTLP goes to `/v1/traces`.',
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
    return this.take(request, 'vllora');
  }

  private async take(request: FastifyRequest, format: SpanBatch['format']): Promise<Taken> {
    try {
      const principal = principalOf(request);
      const batch = {
        format,
        gzip: isGzip(request),
        body: rawBodyOf(request),
        project: projectOf(request),
        keyId: principal.keyId ?? null,
        clientId: principal.token?.client ?? null,
      };
      await this.rates.count({ principal, address: request.ip });
      this.retention.assertRoom();
      const result = await this.ingest.take(batch, holderIn(request));
      this.taken.inc(result.taken);
      this.rejected.inc(result.rejected);
      return result;
    } catch (error) {
      this.refused.inc({ code: asProblem(error).code });
      throw error;
    }
  }
}

/** Whether the body is compressed. @throws Problem for another encoding than gzip */
function isGzip({ headers }: FastifyRequest): boolean {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'gzip' || encoding === 'identity') return encoding === 'gzip';
  throw new Problem('invalid_request', 'Content-Encoding may be gzip, or none', { status: 415 });
}

/** Whether a request is in protobuf. Then the response is, too; else both are in JSON. */
const isProtobuf = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  (headers['content-type'] ?? '').trim().toLowerCase().startsWith(protobufType);

/** The tag of a protobuf field that holds an integer, or a text or message, by the field's number. */
const varint = (field: number): number => field << 3;
const lengthDelimited = (field: number): number => (field << 3) | 2;

/** Codes of google.rpc.Status by HTTP status; for other statuses `invalidArgument`. */
const rpcCodes: Readonly<Record<number, number>> = { 401: 16, 403: 7, 404: 5, 429: 8, 500: 13, 503: 14 };
/** Code of google.rpc.Status. */
const invalidArgument = 3;

/** An error as google.rpc.Status, the error format of OTLP. */
function otlpError(exception: unknown, request: FastifyRequest): OwnErrorBody {
  const { code: name, detail, details } = asProblem(exception);
  const code = rpcCodes[details.status ?? errorTable[name].http] ?? invalidArgument;
  const message = `${name}: ${detail}`;
  if (!isProtobuf(request)) return { type: jsonType, body: Buffer.from(JSON.stringify({ code, message })) };
  const writer = protobuf.Writer.create()
    .uint32(varint(1))
    .int32(code)
    .uint32(lengthDelimited(2))
    .string(message);
  return { type: protobufType, body: Buffer.from(writer.finish()) };
}

/** An ExportTraceServiceResponse. It is empty if all spans were taken; a message without rejected spans is a warning. */
function otlpAnswer(
  request: Pick<FastifyRequest, 'headers'>,
  { rejected, reason = '' }: { readonly rejected: number; readonly reason?: string },
): OwnErrorBody {
  const isFullSuccess = rejected === 0 && reason === '';
  const partial = { rejectedSpans: String(rejected), errorMessage: reason };
  if (!isProtobuf(request)) {
    return { type: jsonType, body: JSON.stringify(isFullSuccess ? {} : { partialSuccess: partial }) };
  }
  const writer = protobuf.Writer.create();
  if (!isFullSuccess) {
    const inner = protobuf.Writer.create();
    inner.uint32(varint(1)).int64(rejected).uint32(lengthDelimited(2)).string(reason);
    writer.uint32(lengthDelimited(1)).bytes(inner.finish());
  }
  return { type: protobufType, body: Buffer.from(writer.finish()) };
}
