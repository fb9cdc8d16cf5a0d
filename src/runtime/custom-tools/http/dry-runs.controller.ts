import { Body, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiConsumes, ApiOperation } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { invalidRequest } from '../../../base/common/errors.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import type { Placed } from '../../../base/streams/event-ring.js';
import { acceptsEvents, sseHeaders, SseStream } from '../../../base/streams/sse.js';
import { finishWith } from '../../../call/door/call-stream.js';
import { ToolsService } from '../../../call/door/tools.service.js';
import { ApiProblems } from '../../../web/rest/api-problems.decorator.js';
import { type LogBook, type LogEntry, ToolLogs } from '../logs/tool-logs.js';
import { CustomToolManager, type DryCall } from '../manager/custom-tool-manager.js';
import { type ToolRequest, ToolPlanner } from '../manager/tool-planner.js';
import { ApiArchive, bundleTypes, uploadIn } from './bundle-body.js';
import {
  ApiDryRun,
  BundleDryRunQuery,
  DryRunCallBody,
  DryRunView,
  TryChangeBody,
  TryToolBody,
} from './dry-runs.dto.js';
import { ApiName, CustomToolRoutes } from './tool-route.decorator.js';
import { RevisionParams } from './tool-revisions.dto.js';

/** Dry runs of registrations and changes, with one answer or a stream of their log. */
@CustomToolRoutes('', 'tools:admin')
export class DryRunsController {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'server'>,
    private readonly planner: ToolPlanner,
    private readonly manager: CustomToolManager,
    private readonly logs: ToolLogs,
    private readonly tools: ToolsService,
  ) {}

  @Post('try')
  @ApiOperation({
    summary: 'Try a registration without registering anything',
    description:
      'Starts the executable as for a registration, under the same rules and in the same sandbox, and calls it once if `call` is given. Refusals are those of a registration. Nothing of the tool is stored; the call is recorded as a test call (`test`).',
  })
  @ApiDryRun()
  tryCustomTool(
    @Body() { call, ...create }: TryToolBody,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<DryRunView> | Readable {
    return this.run(create.name, call, () => ({ create }), request, reply);
  }

  @Post(':name/bundle/try')
  @ApiName('word_count')
  @ApiConsumes(...bundleTypes)
  @ApiArchive()
  @ApiOperation({
    summary: 'Try a bundle without registering anything',
    description:
      'Like `POST /api/v1/custom-tools/try`, with the files of `POST /api/v1/custom-tools/{name}/bundle`, or of `PUT` if the tool exists. They are deleted within hours unless they are registered.',
  })
  @ApiDryRun()
  tryToolBundle(
    @Param('name') name: string,
    @Query() query: BundleDryRunQuery,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<DryRunView> | Readable {
    const makeRequest = () => this.planner.requestWithBundle(name, uploadIn(request));
    return this.run(name, callIn(query), makeRequest, request, reply);
  }

  @Post(':name/try')
  @ApiName()
  @ApiOperation({
    summary: 'Try a change without changing anything',
    description:
      'Like `POST /api/v1/custom-tools/try`, with the registered tool and the given changes. Other calls run the registered tool meanwhile.',
  })
  @ApiDryRun()
  @ApiProblems('not_found')
  tryCustomToolChange(
    @Param('name') name: string,
    @Body() { call, ...changes }: TryChangeBody,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<DryRunView> | Readable {
    return this.run(name, call, () => ({ name, changes }), request, reply);
  }

  @Post(':name/revisions/:revision/try')
  @ApiOperation({
    summary: 'Try a rollback without changing anything',
    description: 'Starts the executable of the revision, under the rules of a rollback.',
  })
  @ApiDryRun()
  @ApiProblems('not_found', 'conflict')
  tryCustomToolRevision(
    @Param() { name, revision }: RevisionParams,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<DryRunView> | Readable {
    return this.run(name, undefined, () => ({ name, revision }), request, reply);
  }

  /** Starts the dry run. Streams its log and its result if the request accepts events. */
  private run(
    name: string,
    call: DryRunCallBody | undefined,
    makeRequest: () => Promise<ToolRequest> | ToolRequest,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<DryRunView> | Readable {
    const book = this.logs.detached(name);
    const dryRun = async (): Promise<DryRunView> =>
      viewOf(await this.manager.dryRun(await makeRequest(), book, this.callOf(call, request)), book);
    const view = dryRun();
    if (!acceptsEvents(request.headers)) return view;
    void reply.headers(sseHeaders);
    const stream = new SseStream(
      { ring: book.ring, place: 0, eventOf },
      {},
      this.config.server.sseHeartbeatMs,
    );
    // The name `trial` of the last event is part of the API.
    const lastEvent = view.then((data) => ({ event: 'trial', data }));
    finishWith(stream, lastEvent, request.id);
    return stream;
  }

  /** The call that a dry run makes, if any. */
  private callOf(call: DryRunCallBody | undefined, request: FastifyRequest): DryCall | undefined {
    if (!call) return undefined;
    const { tool, input = {} } = call;
    return { tool, run: (tried) => this.tools.tryCall(tried, { input }, request) };
  }
}

const eventOf = (entry: Placed<LogEntry>) => ({ event: 'log', data: entry });

function viewOf(
  { tool, ...result }: Awaited<ReturnType<CustomToolManager['dryRun']>>,
  { ring }: LogBook,
): DryRunView {
  const { description, version, inputSchema } = tool;
  return { ...result, description, version, inputSchema, log: ring.slice(Infinity).entries };
}

/** The call in the query of a bundle's dry run. @throws Problem `invalid_request` if it is not JSON */
function callIn({ input }: BundleDryRunQuery): DryRunCallBody | undefined {
  if (input === undefined) return undefined;
  try {
    return { input: JSON.parse(input) as unknown };
  } catch {
    throw invalidRequest({ pointer: '/input', detail: 'must be JSON' });
  }
}
