import { applyDecorators, Controller, UseInterceptors } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import { Scopes } from '../../../auth/scopes.decorator.js';
import { ApiProblems } from '../../../rest/api-problems.decorator.js';
import { UpToDateInterceptor } from '../../executions/execution-recorder.js';
import { SpansUpToDateInterceptor } from '../ingest/span-ingest.js';

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
