import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiPropertyOptional, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { errorTable, type ProblemCode } from '../../base/common/errors.js';
import { Example, OneOfThese } from './dto.js';

const exampleRequestId = '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f';

/** An invalid field of a request. */
class FieldProblemView {
  @Example('/input/query', 'JSON pointer into the request body') readonly pointer!: string;
  @Example('must be string') readonly detail!: string;
}

/** RFC 9457 problem+json, the body of every failed request. */
export class ProblemView {
  @Example('urn:toolkeeper:error:invalid_input') readonly type!: string;
  @Example("The input breaks the tool's schema") readonly title!: string;
  @Example(422) readonly status!: number;
  @Example('log_summary: input/query must be string') readonly detail!: string;
  @OneOfThese(Object.keys(errorTable), 'invalid_input') readonly code!: string;
  @Example(exampleRequestId) readonly requestId!: string;
  @ApiPropertyOptional({ type: [FieldProblemView] }) readonly errors?: FieldProblemView[];
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

/** An example of a problem, for the OpenAPI document. */
function exampleOf(code: ProblemCode): ProblemView {
  const { http, title } = errorTable[code];
  const type = problemType(code);
  return { type, title, status: http, detail: title, code, requestId: exampleRequestId };
}

/** The `type` of a problem: a URN with its code. */
export const problemType = (code: string): string => `urn:toolkeeper:error:${code}`;
