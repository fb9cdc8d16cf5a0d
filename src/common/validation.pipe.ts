import { applyDecorators, type ArgumentMetadata, ValidationPipe } from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import { getMetadataStorage, ValidateBy, type ValidationError } from 'class-validator';
import { type FieldProblem, Problem } from './errors.js';

const toTheLetter = 'toTheLetter';

/**
 * A member of JSON that is kept as it is, whatever its own members are called: class-transformer would drop or trip
 * over those that are named like Object's own, such as `toString`, and Nest drops `constructor` and `prototype`. A
 * member that could become a prototype has been refused when the JSON was read.
 */
export function ToTheLetter(): PropertyDecorator {
  return applyDecorators(
    // Boolean, because class-transformer then does not look into the value.
    Type(() => Boolean),
    Transform(({ obj, key }: { obj: Record<string, unknown>; key: string }) => obj[key]),
    ValidateBy({ name: toTheLetter, validator: { validate: () => true } }),
  );
}

class LetterKeepingPipe extends ValidationPipe {
  override transform(body: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const kept = membersToTheLetter(metadata.metatype);
    for (const [name, member] of Object.entries(body ?? {})) {
      if (!kept.has(name)) super.stripProtoKeys(member);
    }
    return super.transform(body, metadata);
  }

  protected override stripProtoKeys(): void {
    // It has been done, but for what is kept to the letter.
  }
}

function membersToTheLetter(metatype: ArgumentMetadata['metatype']): ReadonlySet<string> {
  if (metatype === undefined) return new Set();
  const rules = getMetadataStorage().getTargetValidationMetadatas(metatype, '', true, false);
  return new Set(rules.filter(({ name }) => name === toTheLetter).map(({ propertyName }) => propertyName));
}

/** Validates every DTO: unknown fields are refused and each wrong field is named by its JSON pointer. */
export function createValidationPipe(): ValidationPipe {
  return new LetterKeepingPipe({
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
