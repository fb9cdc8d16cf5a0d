import { ValidationPipe } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { type FieldProblem, Problem } from './errors.js';

/** Validates every DTO: unknown fields are refused and each wrong field is named by its JSON pointer. */
export function createValidationPipe(): ValidationPipe {
  return new ValidationPipe({
    transform: true,
    whitelist: true,
    forbidNonWhitelisted: true,
    // "false" must not become true.
    transformOptions: { enableImplicitConversion: false },
    exceptionFactory: (errors) => {
      const fields = errors.flatMap((error) => fieldProblems(error, ''));
      const detail = fields.map(({ pointer, detail: text }) => `${pointer.slice(1)}: ${text}`).join('; ');
      return new Problem('invalid_request', detail || 'The request is not valid', { errors: fields });
    },
  });
}

function fieldProblems(error: ValidationError, parent: string): FieldProblem[] {
  const pointer = `${parent}/${error.property.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  const own = Object.values(error.constraints ?? {}).map((detail) => ({ pointer, detail }));
  return [...own, ...(error.children ?? []).flatMap((child) => fieldProblems(child, pointer))];
}
