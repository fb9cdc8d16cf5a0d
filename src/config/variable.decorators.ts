import { applyDecorators } from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import { IsBoolean, IsInt, Max, Min } from 'class-validator';

/** A whole number between `min` and `max`, both included. */
export function WholeNumber(min: number, max: number): PropertyDecorator {
  return applyDecorators(
    IsInt(),
    Min(min),
    Max(max),
    Type(() => Number),
  );
}

/** `true` or `false`; implicit conversion would read "false" as true. */
export function Flag(): PropertyDecorator {
  const words = new Map<unknown, boolean>([
    ['true', true],
    ['false', false],
  ]);
  return applyDecorators(
    IsBoolean(),
    Transform(({ value }: { value: unknown }) => words.get(value) ?? value),
  );
}
