import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { invalidRequest } from '../common/errors.js';
import type { PayloadView } from '../records/executions/payloads.dto.js';
import { PayloadsService } from '../records/executions/payloads.service.js';
import { ToolMetricsService } from '../records/executions/tool-metrics.service.js';
import { ToolHistory } from './tool-history.js';
import type { ReplayBody, ReplayView } from './replays.dto.js';
import { ToolRegistry } from './tool-registry.js';
import { ToolsService, type WithTool } from './tools.service.js';

/** Runs an execution once more, as an operator's trial. */
@Injectable()
export class ReplaysService {
  constructor(
    private readonly metrics: ToolMetricsService,
    private readonly payloads: PayloadsService,
    private readonly registry: ToolRegistry,
    private readonly past: ToolHistory,
    private readonly tools: ToolsService,
  ) {}

  /**
   * @throws Problem `not_found` for an execution, tool or revision that there is not; `invalid_request` where there is no
   * input to run it with; Refusal for a call that was not run
   */
  async replay(id: string, body: ReplayBody, request: FastifyRequest): Promise<ReplayView> {
    const original = await this.metrics.execution(id);
    const payload = (await this.payloads.find(original.metricId)) ?? null;
    const input = Object.hasOwn(body, 'input') ? body.input : inputOf(payload);
    const outcome = await this.withTool(
      original.toolName,
      body.revision,
    )((tool) => this.tools.tryCall(tool, { input, replayOf: original.metricId }, request));
    return { outcome, original, payload };
  }

  private withTool(name: string, revision: number | undefined): WithTool {
    const tool = revision === undefined ? this.registry.find(name) : undefined;
    return tool ? (work) => work(tool) : this.past.withTool(name, revision);
  }
}

function inputOf(payload: PayloadView | null): unknown {
  if (payload && 'input' in payload && !payload.redacted) return payload.input;
  const why =
    payload === null
      ? 'that of this execution was not captured, or its time is over'
      : payload.redacted
        ? 'a secret was taken out of that of this execution'
        : 'that of this execution was too large to be kept';
  throw invalidRequest({ pointer: '/input', detail: `must be given: ${why}` });
}
