import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { SpanIngest } from '../ingest/span-ingest.js';

/** For routes that answer about spans: a caller that asks right after sending some finds them. */
@Injectable()
export class SpansUpToDateInterceptor implements NestInterceptor {
  constructor(private readonly ingest: SpanIngest) {}

  async intercept(_: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    await this.ingest.catchUp();
    return next.handle();
  }
}
