import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { type Observable, tap } from 'rxjs';
import { Refusal } from '../common/errors.js';
import type { ToolCall } from '../tool-contract/tool-call.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';
import { ExecutionEvents } from './execution-events.js';
import { ExecutionRecorder } from './execution-recorder.js';
import {
  eventOf,
  metricOfBug,
  metricOfOutcome,
  startedExecution,
  type StartedExecution,
} from './metric-of-execution.js';
import type { ToolMetric } from './tool-metric.entity.js';

/** Starts the call's clock when a place for its record is sure, and records how the execution ended. */
@Injectable()
export class ExecutionRecorderInterceptor implements NestInterceptor<ToolOutcome, ToolOutcome> {
  constructor(
    private readonly recorder: ExecutionRecorder,
    private readonly events: ExecutionEvents,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler<ToolOutcome>): Observable<ToolOutcome> {
    if (context.getType<string>() !== 'tool') return next.handle();
    const call = context.getArgByIndex<ToolCall>(0);
    this.recorder.assertRoom();
    call.ticket.start();
    const started = startedExecution(call, new Date());
    this.recorder.begin();
    return next.handle().pipe(
      tap({
        next: (outcome) => this.end(started, metricOfOutcome(started, outcome)),
        error: (error: unknown) => {
          // Refused after all (the tool stopped meanwhile): no execution, no record.
          if (error instanceof Refusal) this.recorder.discard();
          else this.end(started, metricOfBug(started, error));
        },
      }),
    );
  }

  private end(started: StartedExecution, metric: ToolMetric): void {
    this.recorder.finish(metric);
    this.events.emit(eventOf(started, metric, Date.now()));
  }
}
