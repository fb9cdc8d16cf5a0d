import { applyDecorators, UseInterceptors } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { ApiRoutes } from '../../../web/auth/scopes.decorator.js';
import { UpToDateInterceptor } from '../../executions/execution-recorder.js';
import { SpansUpToDateInterceptor } from '../ingest/span-ingest.js';

/** A controller whose routes read one of the caller's projects. */
export const OfProject = (path: string, tag: string): ClassDecorator =>
  applyDecorators(
    ApiRoutes(path, tag, 'traces:read'),
    ApiHeader({
      name: 'x-project-id',
      required: false,
      description: "One of the key's projects; else the first of them, or `default`",
      schema: { type: 'string', maxLength: 256 },
    }),
  );

/** A controller whose routes read spans. They find all spans and executions that were recorded before the request. */
export const ReadsTraces = (path: string): ClassDecorator =>
  applyDecorators(UseInterceptors(UpToDateInterceptor, SpansUpToDateInterceptor), OfProject(path, 'traces'));
