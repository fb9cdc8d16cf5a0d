import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiExtraModels, ApiHeaders, ApiOkResponse, getSchemaPath } from '@nestjs/swagger';
import { ApiProblems } from '../rest/api-problems.decorator.js';
import type { ProblemCode } from '../common/errors.js';
import { executeBodySchema } from './incoming-call.js';
import { OutcomeView } from './tools.dto.js';

const contextHeaders = ['user', 'session', 'request', 'investigation', 'run', 'thread', 'project'].map(
  (name) => ({
    name: `x-${name}-id`,
    required: false,
    description: `The call's ${name}; the body's context wins`,
  }),
);

const events =
  'Server-sent events: any number of `progress` {progress, total?, message?} and `log` {level, message, data?}, then ' +
  'one `outcome` with what `application/json` answers, or one `problem` when the server failed meanwhile';
const exampleEvents = [
  ': execution 019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f',
  'event: progress\ndata: {"progress":1,"total":2,"message":"page 1"}',
  'event: log\ndata: {"level":"warn","message":"page 2 is empty"}',
  'event: outcome\ndata: {"executionId":"019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f","tool":"log_summary","status":"success","executionTimeMs":12,"attempts":1,"cached":false,"result":{}}',
]
  .map((event) => `${event}\n\n`)
  .join('');

/** Documents a route that runs a tool. */
export function ApiExecute(example: object, ...problems: ProblemCode[]): MethodDecorator {
  return applyDecorators(
    ApiHeaders(contextHeaders),
    ApiBody({ schema: executeBodySchema, examples: { call: { value: example } } }),
    ApiExtraModels(OutcomeView),
    ApiOkResponse({
      description: 'The tool ran; `status` says how it ended',
      content: {
        'application/json': { schema: { $ref: getSchemaPath(OutcomeView) } },
        'text/event-stream': { schema: { type: 'string', description: events }, example: exampleEvents },
      },
    }),
    ApiProblems(...problems),
  );
}
