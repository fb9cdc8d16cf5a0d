import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import { IsDate, IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';

const isoTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/** A moment as ISO 8601; without an offset it is UTC. May be absent. */
export function IsoTime(example: string, description: string): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({ type: String, format: 'date-time', example, description }),
    IsOptional(),
    Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? momentOf(value) : value)),
    IsDate({ message: '$property must be an ISO 8601 time, such as 2026-01-23T10:30:00Z' }),
  );
}

function momentOf(text: string): Date | string {
  if (!isoTime.test(text)) return text;
  return new Date(/T.*(Z|[+-]\d{2}:?\d{2})$/.test(text) || !text.includes('T') ? text : `${text}Z`);
}

/** A whole number between two bounds, both included. */
export function QueryNumber(
  minimum: number,
  maximum: number,
  said: ApiPropertyOptions = {},
): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({ minimum, maximum, ...said }),
    IsInt(),
    Min(minimum),
    Max(maximum),
    Type(() => Number),
  );
}

/** How long a list may be. */
export const Limit = (usual: number): PropertyDecorator =>
  QueryNumber(1, 1_000, { example: usual, default: usual });

/** A name or id, not empty. */
export const ShortText = (): PropertyDecorator => applyDecorators(IsString(), Length(1, 256));

/** A name or id that may be absent. */
export const OptionalText = (example: string, description?: string): PropertyDecorator =>
  applyDecorators(
    ApiPropertyOptional({ example, ...(description !== undefined && { description }) }),
    IsOptional(),
    ShortText(),
  );
