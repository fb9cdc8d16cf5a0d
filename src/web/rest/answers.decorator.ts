import { applyDecorators, HttpCode, type Type } from '@nestjs/common';
import { ApiNoContentResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import type { ProblemCode } from '../../base/common/errors.js';
import { ApiProblems } from './api-problems.decorator.js';

/** Describes a route and its response for openapi.json. */
export const Answers = (
  type: Type,
  summary: string,
  description: string,
  ...problems: ProblemCode[]
): MethodDecorator =>
  applyDecorators(
    ApiOperation({ summary, description }),
    ApiOkResponse({ type }),
    ...(problems.length > 0 ? [ApiProblems(...problems)] : []),
  );

/** Describes a route that answers 204. @param effect what holds after it, as the description of the response */
export const AnswersNothing = (
  summary: string,
  description: string,
  effect: string,
  ...problems: ProblemCode[]
): MethodDecorator =>
  applyDecorators(
    HttpCode(204),
    ApiOperation({ summary, description }),
    ApiNoContentResponse({ description: effect }),
    ...(problems.length > 0 ? [ApiProblems(...problems)] : []),
  );
