import { type CallHandler, Inject, type NestInterceptor, type Type } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { endsWithin } from '../../base/common/abortable.js';
import { DatabaseHealth, suspiciousMs } from '../../base/database/database-health.js';

/** The owner of a journal. */
interface CatchesUp {
  /** Waits until the records so far are in the database. */
  catchUp(): Promise<void>;
}

/** Makes an interceptor for routes that read a journalled table, so that they find all records before the request. */
export function upToDate(owner: Type<CatchesUp>): Type<NestInterceptor> {
  class UpToDateInterceptor implements NestInterceptor {
    constructor(
      @Inject(owner) private readonly owner: CatchesUp,
      private readonly database: DatabaseHealth,
    ) {}

    /** @throws DatabaseUnavailable at once if the database is known to be down */
    async intercept(_: unknown, next: CallHandler): Promise<Observable<unknown>> {
      this.database.assertAnswers();
      const catchingUp = this.owner.catchUp();
      while (!(await endsWithin(suspiciousMs, catchingUp))) {
        this.database.suspect();
        this.database.assertAnswers();
      }
      return next.handle();
    }
  }
  return UpToDateInterceptor;
}
