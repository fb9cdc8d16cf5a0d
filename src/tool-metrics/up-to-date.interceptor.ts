import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { ExecutionRecorder } from './execution-recorder.js';

/** For routes that answer about executions: a caller that asks right after a call finds it counted. */
@Injectable()
export class UpToDateInterceptor implements NestInterceptor {
  constructor(private readonly recorder: ExecutionRecorder) {}

  async intercept(_: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    await this.recorder.catchUp();
    return next.handle();
  }
}
