import { ApiParam, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { ProblemView } from '../../rest/api-problems.decorator.js';

/** For routes below the name of a custom tool. */
export const ApiName = (example = 'log_summary'): MethodDecorator => ApiParam({ name: 'name', example });

/** For routes that may ask for a grant. */
export const ApiNotGranted = (): MethodDecorator =>
  ApiResponse({
    status: 422,
    description: '`invalid_request`: a path that the tool may not be granted',
    content: { 'application/problem+json': { schema: { $ref: getSchemaPath(ProblemView) } } },
  });
