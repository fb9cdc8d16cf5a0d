import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { Problem } from '../../common/errors.js';
import type { FoundId, Listed, SpanRead } from './reads.types.js';
import type { WindowQuery } from './trace-queries.shapes.js';
import { TraceReads } from './trace-reads.js';

const gzipped = promisify(gzip);
/** Ids repeat nothing: to look for what they have in common makes them larger. */
const ofIds = { strategy: constants.Z_FILTERED };

/** One trace, however large: its outline, and parts of it. */
@Injectable()
export class TracesService {
  constructor(private readonly reads: TraceReads) {}

  async find(project: string, id: string): Promise<{ data: FoundId[] }> {
    return { data: await this.reads.byId(project, id) };
  }

  /** @returns JSON, which gzip makes five times smaller in a thread of its own. @throws Problem `not_found` */
  async skeleton(project: string, id: string, request: FastifyRequest, reply: FastifyReply): Promise<Buffer> {
    const skeleton = await this.reads.skeleton({ project, traceIds: [id] });
    if (skeleton === undefined) throw unknownTrace(id);
    void reply.headers({ 'content-type': 'application/json; charset=utf-8', vary: 'accept-encoding' });
    const json = Buffer.from(skeleton);
    if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return json;
    void reply.header('content-encoding', 'gzip');
    return gzipped(json, ofIds);
  }

  /**
   * Spans of a trace around one of them, or those that run in a span of time; `offset` and `total` count in that order by
   * start in which a skeleton has them, for a span of time among those that run in it.
   * @throws Problem `not_found`
   */
  async window(project: string, id: string, query: WindowQuery): Promise<Listed<SpanRead>> {
    const { span_id: spanId, start_time: finishFromUs, end_time: endUs, limit } = query;
    const trace = { project, traceIds: [id] };
    if (spanId === undefined) {
      const times = {
        ...(finishFromUs !== undefined && { finishFromUs }),
        ...(endUs !== undefined && { endUs }),
      };
      return this.reads.spans({ ...trace, ...times }, { limit, offset: 0 });
    }
    const place = await this.reads.place(trace, spanId);
    if (place === undefined)
      throw new Problem(
        'not_found',
        `There is no span ${JSON.stringify(spanId)} in the trace ${JSON.stringify(id)}`,
      );
    return this.reads.spans(trace, { limit, offset: Math.max(0, place - Math.floor(limit / 2)) });
  }
}

const unknownTrace = (id: string): Problem =>
  new Problem('not_found', `There is no trace ${JSON.stringify(id)}`);
