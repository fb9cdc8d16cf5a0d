import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiHeaders, ApiOkResponse } from '@nestjs/swagger';
import { ApiProblems } from '../common/api-problems.decorator.js';
import type { ProblemCode } from '../common/errors.js';
import { executeBodySchema } from './execute-body.js';
import { OutcomeBody } from './tools.dto.js';

const contextHeaders = ['user', 'session', 'request', 'investigation', 'run', 'thread', 'project'].map(
  (name) => ({
    name: `x-${name}-id`,
    required: false,
    description: `The call's ${name}; the body's context wins`,
  }),
);

/** Documents a route that runs a tool. */
export function ApiExecute(example: object, ...problems: ProblemCode[]): MethodDecorator {
  return applyDecorators(
    ApiHeaders(contextHeaders),
    ApiBody({ schema: executeBodySchema, examples: { call: { value: example } } }),
    ApiOkResponse({ type: OutcomeBody, description: 'The tool ran; `status` says how it ended' }),
    ApiProblems(...problems),
  );
}
