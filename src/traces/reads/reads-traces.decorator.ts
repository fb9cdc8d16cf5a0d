import {
  applyDecorators,
  Controller,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import { Scopes } from '../../auth/scopes.decorator.js';
import { ApiProblems } from '../../common/api-problems.decorator.js';
import { UpToDateInterceptor } from '../../tool-metrics/up-to-date.interceptor.js';
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

/** A controller whose routes answer about the spans of one of the caller's projects. */
export const ReadsTraces = (path: string): ClassDecorator =>
  applyDecorators(
    ApiTags('traces'),
    Scopes('traces:read'),
    ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden'),
    ApiHeader({
      name: 'x-project-id',
      required: false,
      description: "One of the key's projects; else the first of them, or `default`",
      schema: { type: 'string', maxLength: 256 },
    }),
    UseInterceptors(UpToDateInterceptor, SpansUpToDateInterceptor),
    Controller(path),
  );
