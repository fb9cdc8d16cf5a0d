import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { performance } from 'node:perf_hooks';
import { lastValueFrom, type Observable, of } from 'rxjs';
import { Refusal } from '../../base/common/errors.js';
import { CallEvents } from '../../web/contract/call-events.js';
import type { ToolCall } from '../../web/contract/tool-call.js';
import type { ToolOutcome } from '../../web/contract/tool-outcome.js';
import { type Ended, endOfBug, endOfOutcome, eventOf, startOf } from './execution-entries.js';
import { ExecutionRecorder } from './execution-recorder.js';

/**
 * Records an execution: its start before the tool gets the call, its end before the caller is answered. A cached
 * answer is no execution. Holds no state: Nest makes an instance for each use. The handler is awaited: operators of rxjs
 * around it would allocate 6 KB a call.
 */
@Injectable()
export class ExecutionRecorderInterceptor implements NestInterceptor<ToolOutcome, ToolOutcome> {
  constructor(
    private readonly recorder: ExecutionRecorder,
    private readonly events: CallEvents,
  ) {}

  /** @throws Refusal `recorder_full` if the record cannot be promised */
  async intercept(
    context: ExecutionContext,
    next: CallHandler<ToolOutcome>,
  ): Promise<Observable<ToolOutcome>> {
    const call = context.getArgByIndex<ToolCall>(0);
    const { ticket } = call;
    ticket.recorded = true;
    if (ticket.kept) return next.handle();
    ticket.startedAtMs = performance.now();
    this.recorder.assertRoom();
    const start = startOf(call, Date.now());
    if (!(await this.recorder.begin(ticket.executionId, start))) this.recorder.refuse();
    let outcome: ToolOutcome;
    try {
      outcome = await lastValueFrom(next.handle());
    } catch (error) {
      await this.failed(call, error);
      throw error;
    }
    await this.ended(call, endOfOutcome(call, outcome));
    return of(outcome);
  }

  /** The handler itself failed: our bug is an execution that is recorded; a late refusal (the tool stopped) is not. */
  private async failed(call: ToolCall, error: unknown): Promise<void> {
    if (!(error instanceof Refusal)) await this.ended(call, { end: endOfBug(call, error) });
    else this.recorder.discard(call.ticket.executionId);
  }

  /** Resolves when the end is in the journal. */
  private ended(call: ToolCall, { end, errorCode, result }: Ended): Promise<unknown> {
    this.events.emit(eventOf(call, end, errorCode, Date.now()));
    return this.recorder.finish(call.ticket.executionId, end, result);
  }
}
