import { Injectable, UseGuards, UseInterceptors } from '@nestjs/common';
import { neverAborted } from '../common/cancel-signal.js';
import { Deadline } from '../common/deadline.js';
import { CallMetrics } from '../observability/call-metrics.js';
import { ToolLog } from '../observability/tool-log.js';
import { InvestigationBudgetGuard } from '../investigations/investigation-budget.guard.js';
import type { ToolCall } from '../tool-contract/tool-call.js';
import { isToolFault, ToolFailure, type ToolOutcome } from '../tool-contract/tool-outcome.js';
import { CircuitBreakerGuard } from '../tool-health/circuit-breaker.guard.js';
import { ExecutionRecorderInterceptor } from '../tool-metrics/execution-recorder.interceptor.js';
import { runUnderDeadline } from './run-under-deadline.js';
import { ToolCapacityGuard } from './tool-capacity.guard.js';

/**
 * The one handler that runs tools. Only ToolDoor reaches it, through Nest's guards and interceptor; called in any
 * other way it throws, because the call's ticket was never stamped.
 */
@Injectable()
export class ToolGateway {
  constructor(
    private readonly metrics: CallMetrics,
    private readonly log: ToolLog,
  ) {}

  @UseGuards(InvestigationBudgetGuard, CircuitBreakerGuard, ToolCapacityGuard)
  @UseInterceptors(ExecutionRecorderInterceptor)
  async execute(call: ToolCall): Promise<ToolOutcome> {
    const { ticket } = call;
    ticket.enter();
    const { tool, executionId, notes } = ticket;
    const { name } = tool.definition;
    const { requestId } = call.context;
    call.onStart?.({ executionId, budget: ticket.budget });
    this.metrics.started(name);
    const verbose = this.log.isVerbose();
    if (verbose) this.log.write({ tool: name, event: 'execute', requestId });
    let status: ToolOutcome['status'] = 'error';
    const deadline = Deadline.ofSmallest([call.timeoutMs, tool.definition.timeoutMs]);
    try {
      const { context, onProgress, signal = neverAborted } = call;
      const { probe, inputJson } = ticket;
      const run = { executionId, context, deadline, probe, notes, inputJson, onProgress, signal };
      const result = await runUnderDeadline(tool, call.input, run);
      status = 'success';
      return { ...this.base(call), status, result };
    } catch (error) {
      if (!(error instanceof ToolFailure)) throw error;
      const outcome = this.failed(call, error);
      status = outcome.status;
      return outcome;
    } finally {
      const durationMs = ticket.elapsedMs();
      this.metrics.ended(name, status, durationMs / 1000);
      if (verbose) this.log.write({ tool: name, event: 'response', requestId, durationMs });
    }
  }

  private base(call: ToolCall) {
    const { executionId, tool, notes } = call.ticket;
    return {
      executionId,
      tool: tool.definition.name,
      executionTimeMs: call.ticket.elapsedMs(),
      attempts: notes.attempts,
      cached: false,
    };
  }

  private failed(call: ToolCall, failure: ToolFailure): ToolOutcome {
    const { type, code, message, data } = failure;
    // The message is the tool's own text and may repeat its input: it is recorded, not logged.
    const entry = { tool: call.tool, requestId: call.context.requestId, durationMs: call.ticket.elapsedMs() };
    if (isToolFault(failure)) this.log.write({ ...entry, event: 'error', error: `${type} (${code})` });
    const { fallback } = call.ticket.tool.definition;
    return {
      ...this.base(call),
      status: type === 'timeout' ? 'timeout' : 'error',
      error: { code, type, message, ...(data !== undefined && { data }) },
      ...(fallback !== undefined && { result: fallback }),
    };
  }
}
