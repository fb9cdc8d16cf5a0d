import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsIn, IsInt, IsString, Max, MaxLength, Min } from 'class-validator';
import { Optional } from '../common/optional.decorator.js';
import { type ToolEventType, toolEventTypes } from '../common/tool-events.js';

/** `a,b` or the parameter given twice. */
const Listed = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) =>
    (Array.isArray(value) ? value : [value]).flatMap((part: unknown) =>
      typeof part === 'string' ? part.split(',').map((word) => word.trim()) : [part],
    ),
  );

export class EventsQuery {
  @ApiPropertyOptional({
    type: String,
    example: 'disk_usage',
    description: 'Names of tools, comma-separated',
  })
  @Optional()
  @Listed()
  @IsArray()
  @ArrayMaxSize(100)
  @IsString({ each: true })
  @MaxLength(128, { each: true })
  readonly tool?: string[];

  @ApiPropertyOptional({
    type: String,
    example: 'tool.crashed,circuit.opened',
    description: `Types of events, comma-separated: ${toolEventTypes.join(', ')}`,
  })
  @Optional()
  @Listed()
  @IsArray()
  @IsIn(toolEventTypes, { each: true })
  readonly type?: ToolEventType[];

  @ApiPropertyOptional({ default: 100, example: 100, description: 'Of a page; a stream has no end' })
  @Optional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(1_000)
  readonly limit: number = 100;

  @ApiPropertyOptional({ description: 'Id of the last event that was seen; the header Last-Event-ID wins' })
  @Optional()
  @IsString()
  @MaxLength(128)
  readonly since?: string;
}

export class EventBody {
  @ApiProperty({ example: 'mhq3k2x19f2c6b01-42' }) readonly id!: string;
  @ApiProperty({ enum: toolEventTypes, example: 'circuit.opened' }) readonly type!: ToolEventType;
  @ApiProperty({ example: 'disk_usage' }) readonly tool!: string;
  @ApiProperty({ format: 'date-time', example: '2026-01-23T10:30:00.000Z' }) readonly timestamp!: string;
  @ApiProperty({ example: '5 of 8 calls failed in 300 s' }) readonly message!: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { from: 'closed', to: 'open', by: null },
    description: 'By type: `from`, `to`, `by`; `exitCode`, `signal`; `healthStatus`; `status`',
  })
  readonly data!: object;
}

export class EventPageBody {
  @ApiProperty({ type: [EventBody], description: 'Oldest first' }) readonly data!: EventBody[];
  @ApiProperty({ type: String, nullable: true, example: 'mhq3k2x19f2c6b01-42' })
  readonly nextSince!: string | null;
  @ApiProperty({ example: 0, description: 'Events after `since` that had to make room' })
  readonly missed!: number;
  @ApiProperty({ example: false, description: '`since` is not of this server, or from before its restart' })
  readonly reset!: boolean;
}
