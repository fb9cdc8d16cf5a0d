import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import type { Placed } from '../../common/event-ring.js';
import { invalidRequest } from '../../common/errors.js';
import { acceptsEvents, sseHeaders } from '../../common/sse.js';
import { SseStream } from '../../common/sse-stream.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { finishWith } from '../../tools/call-stream.js';
import { ToolsService } from '../../tools/tools.service.js';
import { type LogBook, type LogEntry, ToolLogs } from '../logs/tool-logs.js';
import { BundleRegistration } from '../manager/bundle-registration.js';
import { type Trial, type TrialCall, ToolTrials } from '../manager/tool-trials.js';
import { uploadIn } from './bundle-body.js';
import type {
  BundleTrialQuery,
  TrialCallBody,
  TrialView,
  TryChangeBody,
  TryToolBody,
} from './tool-trials.shapes.js';

/** Trials of registrations and changes, answered whole or followed line by line. */
@Injectable()
export class ToolTrialsService {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'server'>,
    private readonly trials: ToolTrials,
    private readonly logs: ToolLogs,
    private readonly tools: ToolsService,
    private readonly bundles: BundleRegistration,
  ) {}

  register(
    { call, ...create }: TryToolBody,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<TrialView> | Readable {
    const asked = this.callOf(call, request);
    return this.answer(create.name, (book) => this.trials.register(create, book, asked), request, reply);
  }

  bundle(
    name: string,
    query: BundleTrialQuery,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<TrialView> | Readable {
    const asked = this.callOf(callIn(query), request);
    const run = async (book: LogBook): Promise<Trial> => {
      const taken = await this.bundles.attempt(name, uploadIn(request));
      return 'create' in taken
        ? this.trials.register(taken.create, book, asked, taken.hash)
        : this.trials.change(name, taken.changes, book, asked, taken.hash);
    };
    return this.answer(name, run, request, reply);
  }

  change(
    name: string,
    { call, ...changes }: TryChangeBody,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<TrialView> | Readable {
    const asked = this.callOf(call, request);
    return this.answer(name, (book) => this.trials.change(name, changes, book, asked), request, reply);
  }

  private answer(
    name: string,
    run: (book: LogBook) => Promise<Trial>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<TrialView> | Readable {
    const book = this.logs.apart(name);
    const view = run(book).then((trial) => viewOf(trial, book));
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

/** @throws Problem `invalid_request` */
function callIn({ input }: BundleTrialQuery): TrialCallBody | undefined {
  if (input === undefined) return undefined;
  try {
    return { input: JSON.parse(input) as unknown };
  } catch {
    throw invalidRequest({ pointer: '/input', detail: 'must be JSON' });
  }
}

const eventOf = (entry: Placed<LogEntry>) => ({ event: 'log', data: entry });

function viewOf({ tool, ...trial }: Trial, { ring }: LogBook): TrialView {
  const { description, version, inputSchema } = tool;
  return { ...trial, description, version, inputSchema, log: ring.slice(Infinity).entries };
}
