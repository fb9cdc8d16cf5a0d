import { type CallHandler, type ExecutionContext, Injectable } from '@nestjs/common';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { Refusal } from '../common/errors.js';
import type { PromiseInterceptor } from '../common/promise-interceptor.js';
import type { ToolCall } from '../tool-contract/tool-call.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';
import { endOfBug, endOfOutcome, eventOf, type RecordedEnd, startOf } from './execution-entries.js';
import { ExecutionEvents } from './execution-events.js';
import { ExecutionRecorder } from './execution-recorder.js';

/**
 * Starts the call's clock when its record is sure, and records how the execution ended: the start before the tool
 * hears of the call, the end before its caller is answered.
 */
@Injectable()
export class ExecutionRecorderInterceptor implements PromiseInterceptor<ToolOutcome> {
  constructor(
    private readonly recorder: ExecutionRecorder,
    private readonly events: ExecutionEvents,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler<ToolOutcome>): Observable<ToolOutcome> {
    if (context.getType<string>() !== 'tool') return next.handle();
    return from(this.around(context, () => lastValueFrom(next.handle())));
  }

  /** @throws Refusal `recorder_full` at once when the record cannot be promised; Error when guards were passed by */
  around(context: ExecutionContext, next: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
    const call = context.getArgByIndex<ToolCall>(0);
    this.recorder.assertRoom();
    call.ticket.start();
    return this.record(call, next);
  }

  private async record(call: ToolCall, next: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
    const recorded = await this.recorder.begin(startOf(call, Date.now()));
    let outcome: ToolOutcome;
    try {
      outcome = await next();
    } catch (error) {
      // Refused after all (the tool stopped meanwhile): no execution, no record.
      if (!(error instanceof Refusal)) await this.end(call, endOfBug(call, error, Date.now()), recorded);
      else if (recorded) this.recorder.discard(call.ticket.executionId);
      throw error;
    }
    await this.end(call, endOfOutcome(call, outcome, Date.now()), recorded);
    return outcome;
  }

  private end(call: ToolCall, end: RecordedEnd, recorded: boolean): Promise<unknown> | undefined {
    this.events.emit(eventOf(call, end));
    return recorded ? this.recorder.finish(end) : undefined;
  }
}
