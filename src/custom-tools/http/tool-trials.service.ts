import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import type { Placed } from '../../streams/event-ring.js';
import { acceptsEvents, sseHeaders, SseStream } from '../../streams/sse.js';
import { finishWith } from '../../tools/call-stream.js';
import { ToolsService } from '../../tools/tools.service.js';
import { type LogBook, type LogEntry, ToolLogs } from '../logs/tool-logs.js';
import { Registrations, type Request, type Trial, type TrialCall } from '../manager/registrations.js';
import type { TrialCallBody, TrialView } from './tool-trials.dto.js';

/** Dry runs of registrations and changes, answered whole or followed line by line. */
@Injectable()
export class ToolTrialsService {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'server'>,
    private readonly registrations: Registrations,
    private readonly logs: ToolLogs,
    private readonly tools: ToolsService,
  ) {}

  /** Runs the trial; its log is followed if the request accepts events. */
  run(
    name: string,
    call: TrialCallBody | undefined,
    wanted: () => Promise<Request> | Request,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<TrialView> | Readable {
    const book = this.logs.apart(name);
    const trial = async (): Promise<TrialView> =>
      viewOf(await this.registrations.dryRun(await wanted(), book, this.callOf(call, request)), book);
    const view = trial();
    if (!acceptsEvents(request.headers)) return view;
    void reply.headers(sseHeaders);
    const stream = new SseStream(
      { ring: book.ring, place: 0, eventOf },
      {},
      this.config.server.sseHeartbeatMs,
    );
    const last = view.then((data) => ({ event: 'trial', data }));
    finishWith(stream, last, request.id);
    return stream;
  }

  private callOf(call: TrialCallBody | undefined, request: FastifyRequest): TrialCall | undefined {
    if (!call) return undefined;
    const { tool, input = {} } = call;
    return { tool, run: (tried) => this.tools.tryCall(tried, { input }, request) };
  }
}

const eventOf = (entry: Placed<LogEntry>) => ({ event: 'log', data: entry });

function viewOf({ tool, ...trial }: Trial, { ring }: LogBook): TrialView {
  const { description, version, inputSchema } = tool;
  return { ...trial, description, version, inputSchema, log: ring.slice(Infinity).entries };
}
