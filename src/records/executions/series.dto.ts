import { ApiProperty } from '@nestjs/swagger';
import { OptionalInt, OptionalText } from '../../rest/dto.js';
import { PeriodQuery } from './tool-metrics.dto.js';

export class SeriesQuery extends PeriodQuery {
  @OptionalText(256, { example: 'log_summary', description: 'Of all tools together when absent' })
  readonly tool?: string;
  @OptionalInt(60_000, 31_536_000_000, {
    example: 3_600_000,
    description: 'Length of a point, whole minutes; absent: such that there are at most 120, or days',
  })
  readonly bucketMs?: number;
}

const Duration = (example: number, description = 'null without calls'): PropertyDecorator =>
  ApiProperty({ type: Number, nullable: true, example, description });

export class SeriesPointView {
  @ApiProperty({ example: '2026-01-23T10:00:00.000Z', description: 'Its start' }) readonly at!: string;
  @ApiProperty({ example: 100 }) readonly calls!: number;
  @ApiProperty({ example: 3 }) readonly errors!: number;
  @ApiProperty({ example: 2 }) readonly timeouts!: number;
  @Duration(150.5) readonly avgTimeMs!: number | null;
  @Duration(120, 'At most 2 % off') readonly p50TimeMs!: number | null;
  @Duration(410, 'At most 2 % off') readonly p95TimeMs!: number | null;
}

export class SeriesView {
  @ApiProperty({ example: 3_600_000 }) readonly bucketMs!: number;
  @ApiProperty({
    type: [SeriesPointView],
    description: 'Oldest first, without gaps; the first and the last one are whole buckets',
  })
  readonly data!: SeriesPointView[];
}
