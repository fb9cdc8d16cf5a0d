import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { catchError, mergeMap, type Observable } from 'rxjs';
import { Refusal } from '../common/errors.js';
import type { ToolCall } from '../tool-contract/tool-call.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';
import { type Ended, endOfBug, endOfOutcome, eventOf, startOf } from './execution-entries.js';
import { ExecutionEvents } from './execution-events.js';
import { ExecutionRecorder } from './execution-recorder.js';

/**
 * Records an execution: its start before the tool hears of the call, its end before the caller is answered. A kept
 * answer is no execution. Holds no state: Nest makes an instance for each use.
 */
@Injectable()
export class ExecutionRecorderInterceptor implements NestInterceptor<ToolOutcome, ToolOutcome> {
  constructor(
    private readonly recorder: ExecutionRecorder,
    private readonly events: ExecutionEvents,
  ) {}

  /** @throws Refusal `recorder_full` when the record cannot be promised */
  async intercept(
    context: ExecutionContext,
    next: CallHandler<ToolOutcome>,
  ): Promise<Observable<ToolOutcome>> {
    if (context.getType<string>() !== 'tool') return next.handle();
    const call = context.getArgByIndex<ToolCall>(0);
    call.ticket.advance('recorder');
    if (call.ticket.kept) return next.handle();
    this.recorder.assertRoom();
    const recorded = await this.recorder.begin(call.ticket.executionId, startOf(call, Date.now()));
    return next.handle().pipe(
      catchError((error: unknown) => this.failed(call, error, recorded)),
      mergeMap((outcome) => this.ended(call, endOfOutcome(call, outcome), recorded, outcome)),
    );
  }

  /** The handler itself failed: our bug is an execution that is recorded; a late refusal (the tool stopped) is none. */
  private async failed(call: ToolCall, error: unknown, recorded: boolean): Promise<never> {
    if (!(error instanceof Refusal)) await this.ended(call, { end: endOfBug(call, error) }, recorded);
    else if (recorded) this.recorder.discard(call.ticket.executionId);
    throw error;
  }

  private async ended<T>(call: ToolCall, { end, result }: Ended, recorded: boolean, answer?: T): Promise<T> {
    this.events.emit(eventOf(call, end, Date.now()));
    if (recorded) await this.recorder.finish(call.ticket.executionId, end, result);
    return answer as T;
  }
}
