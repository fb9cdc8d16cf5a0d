import { Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Counter } from 'prom-client';
import { BatchRates } from './batch-rates.js';
import { principalOf, projectOf } from '../../../auth/principal.decorator.js';
import { Problem } from '../../../common/errors.js';
import { asProblem } from '../../../rest/problem.filter.js';
import { rawBodyOf } from '../../../rest/raw-body.js';
import { SpanRetention } from '../span-retention.js';
import type { TakenSpansView } from './ingest.dto.js';
import { isProtobuf, otlpAnswer } from './otlp-answers.js';
import { SpanIngest, type Taken } from './span-ingest.js';
import type { SpanBatch } from './span-intake.js';

const longestProject = 256;

/** Takes batches of spans over HTTP. */
@Injectable()
export class IngestService {
  constructor(
    private readonly ingest: SpanIngest,
    private readonly retention: SpanRetention,
    private readonly rates: BatchRates,
    @InjectMetric('toolkeeper_spans_taken_total') private readonly taken: Counter,
    @InjectMetric('toolkeeper_spans_rejected_total') private readonly rejected: Counter,
    @InjectMetric('toolkeeper_span_batches_refused_total') private readonly refused: Counter,
  ) {}

  /** @returns ExportTraceServiceResponse in the request's encoding */
  async otlp(request: FastifyRequest, reply: FastifyReply): Promise<Buffer> {
    const taken = await this.take(request, isProtobuf(request) ? 'otlp-protobuf' : 'otlp-json');
    const { type, body } = otlpAnswer(request, taken);
    void reply.header('content-type', type);
    return Buffer.from(body);
  }

  async vllora(request: FastifyRequest): Promise<TakenSpansView> {
    return this.take(request, 'vllora');
  }

  private async take(request: FastifyRequest, format: SpanBatch['format']): Promise<Taken> {
    try {
      const principal = principalOf(request);
      const batch = {
        format,
        gzip: isGzip(request),
        body: rawBodyOf(request),
        project: projectIn(request),
        keyId: principal.keyId ?? null,
      };
      await this.rates.count({ principal, address: request.ip });
      this.retention.assertRoom();
      const taken = await this.ingest.take(batch);
      this.taken.inc(taken.taken);
      this.rejected.inc(taken.rejected);
      return taken;
    } catch (error) {
      this.refused.inc({ code: asProblem(error).code });
      throw error;
    }
  }
}

/** @throws Problem `forbidden`, or for a name that no index would hold */
function projectIn(request: FastifyRequest): string {
  const project = projectOf(request);
  if (project.length <= longestProject) return project;
  throw new Problem('invalid_request', `x-project-id may have ${longestProject} characters`);
}

/** @throws Problem for an encoding that is not taken */
function isGzip({ headers }: FastifyRequest): boolean {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'gzip' || encoding === 'identity') return encoding === 'gzip';
  throw new Problem('invalid_request', 'Content-Encoding may be gzip, or none', { status: 415 });
}
