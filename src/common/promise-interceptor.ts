import type { ExecutionContext, NestInterceptor } from '@nestjs/common';

/** An interceptor that works with promises as well: whoever awaits it anyway is spared the observables around it. */
export interface PromiseInterceptor<Result> extends NestInterceptor<Result, Result> {
  around(context: ExecutionContext, next: () => Promise<Result>): Promise<Result>;
}

export const isPromiseInterceptor = <Result>(
  interceptor: NestInterceptor<Result, Result>,
): interceptor is PromiseInterceptor<Result> => 'around' in interceptor;
