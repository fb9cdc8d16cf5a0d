import { applyDecorators } from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import { IsDate, IsInt, IsString, Length, Max, Min } from 'class-validator';

const isoTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/** A moment as ISO 8601; without an offset it is UTC. */
export function IsoTime(): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? momentOf(value) : value)),
    IsDate({ message: '$property must be an ISO 8601 time, such as 2026-01-23T10:30:00Z' }),
  );
}

function momentOf(text: string): Date | string {
  if (!isoTime.test(text)) return text;
  return new Date(/T.*(Z|[+-]\d{2}:?\d{2})$/.test(text) || !text.includes('T') ? text : `${text}Z`);
}

/** A whole number in a query string, between two bounds, both included. */
export function QueryNumber(min: number, max: number): PropertyDecorator {
  return applyDecorators(
    IsInt(),
    Min(min),
    Max(max),
    Type(() => Number),
  );
}

/** A name or id. */
export const ShortText = (): PropertyDecorator => applyDecorators(IsString(), Length(1, 256));
