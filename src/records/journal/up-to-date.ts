import { type CallHandler, Inject, type NestInterceptor, type Type } from '@nestjs/common';
import type { Observable } from 'rxjs';

interface CatchesUp {
  catchUp(): Promise<void>;
}

/** An interceptor for routes that read a journalled table: what was written before the request is found. */
export function upToDate(owner: Type<CatchesUp>): Type<NestInterceptor> {
  class UpToDateInterceptor implements NestInterceptor {
    constructor(@Inject(owner) private readonly journal: CatchesUp) {}

    async intercept(_: unknown, next: CallHandler): Promise<Observable<unknown>> {
      await this.journal.catchUp();
      return next.handle();
    }
  }
  return UpToDateInterceptor;
}
