import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiOkResponse,
  ApiOperation,
  ApiProperty,
  ApiPropertyOptional,
  ApiResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import { errorTable, type ProblemCode } from '../../base/common/errors.js';

/** An invalid field of a request. */
export class FieldProblemView {
  @ApiProperty({ example: '/input/query', description: 'JSON pointer into the request body' })
  readonly pointer!: string;

  @ApiProperty({ example: 'must be string' })
  readonly detail!: string;
}

/** RFC 9457 problem+json, the body of every failed request. */
export class ProblemView {
  @ApiProperty({ example: 'urn:toolkeeper:error:invalid_input' })
  readonly type!: string;

  @ApiProperty({ example: "The input breaks the tool's schema" })
  readonly title!: string;

  @ApiProperty({ example: 422 })
  readonly status!: number;

  @ApiProperty({ example: 'log_summary: input/query must be string' })
  readonly detail!: string;

  @ApiProperty({ enum: Object.keys(errorTable), example: 'invalid_input' })
  readonly code!: string;

  @ApiProperty({ example: '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f' })
  readonly requestId!: string;

  @ApiPropertyOptional({ type: [FieldProblemView] })
  readonly errors?: FieldProblemView[];

  @ApiPropertyOptional({ description: "What an LLM should read instead of the tool's result" })
  readonly fallback?: unknown;
}

/** Documents the problems of a route, one response per HTTP status. */
export function ApiProblems(...codes: ProblemCode[]): MethodDecorator & ClassDecorator {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of codes) {
    const { http } = errorTable[code];
    byStatus.set(http, [...(byStatus.get(http) ?? []), code]);
  }
  const responses = [...byStatus].map(([status, group]) =>
    ApiResponse({
      status,
      description: group.map((code) => `\`${code}\`: ${errorTable[code].title}`).join('; '),
      content: {
        'application/problem+json': {
          schema: { $ref: getSchemaPath(ProblemView) },
          examples: Object.fromEntries(group.map((code) => [code, { value: exampleOf(code) }])),
        },
      },
    }),
  );
  return applyDecorators(ApiExtraModels(ProblemView), ...responses);
}

/** Describes a route, its response and its problems, for the OpenAPI document. */
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

/** An example of a problem, for the OpenAPI document. */
function exampleOf(code: ProblemCode): ProblemView {
  const { http, title } = errorTable[code];
  const requestId = '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f';
  return { type: problemType(code), title, status: http, detail: title, code, requestId };
}

/** The `type` of a problem: a URN with its code. */
export const problemType = (code: string): string => `urn:toolkeeper:error:${code}`;
