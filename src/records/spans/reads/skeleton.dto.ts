import { ApiProperty } from '@nestjs/swagger';
import { spanKinds } from '../span-row.js';

export class SpanTypeView {
  @ApiProperty({ example: 'api_invoke' }) readonly operation!: string;
  @ApiProperty({ enum: spanKinds, example: 'llm' }) readonly kind!: string;
  @ApiProperty({ enum: ['success', 'error'], example: 'success' }) readonly status!: string;
}

/** Columns: the first entry of each is of the first span by start, and so on. */
export class SkeletonView {
  @ApiProperty({ example: 2, description: 'Spans in the columns' }) readonly spans!: number;
  @ApiProperty({ example: 2, description: 'Spans of the trace' }) readonly total_spans!: number;
  @ApiProperty({ example: 1_769_164_200_000_000, description: 'Of the first span' })
  readonly start_time_us!: number;
  @ApiProperty({ example: 16, description: 'Characters (code points) of the longest id' })
  readonly id_length!: number;
  @ApiProperty({
    example: '00f067aa0ba902b7a3ce929d0e0e4736',
    description: 'One after the other, each with spaces behind it up to `id_length`',
  })
  readonly span_ids!: string;
  @ApiProperty({
    type: [Number],
    example: [-1, 0],
    description: 'Places of parents, from 0; -1: has none here',
  })
  readonly parents!: number[];
  @ApiProperty({
    type: [Number],
    example: [0, 12],
    description: 'Milliseconds from the start of the span before',
  })
  readonly starts_after_ms!: number[];
  @ApiProperty({ type: [Number], example: [1_500, 240] }) readonly durations_ms!: number[];
  @ApiProperty({ type: [SpanTypeView], description: 'Each that occurs, by name' })
  readonly types!: SpanTypeView[];
  @ApiProperty({ type: [Number], example: [0, 0], description: 'Places in `types`, from 0' })
  readonly type!: number[];
  @ApiProperty({
    type: [String],
    example: ['gpt-4.1', 'search'],
    description: 'Tools of tool calls, models of model calls, operations of other spans',
  })
  readonly names!: string[];
  @ApiProperty({ type: [Number], example: [0, 1], description: 'Places in `names`, from 0' })
  readonly name!: number[];
  @ApiProperty({ type: [String], example: ['support'] }) readonly labels!: string[];
  @ApiProperty({ type: [Number], example: [0, -1], description: 'Places in `labels`, from 0; -1: has none' })
  readonly label!: number[];
  @ApiProperty({ type: [Number], example: [0.0021, 0], description: 'US dollars, as each span reports them' })
  readonly costs!: number[];
  @ApiProperty({
    type: [Number],
    example: [876, 0],
    description: 'Input and output, as each span reports them',
  })
  readonly tokens!: number[];
  @ApiProperty({
    type: [Number],
    example: [0, 6],
    description:
      'Sums of 1: failed, 2: its text tells of an error (once, at the first span) or its execution is marked as semantic failure, 4: it has an execution',
  })
  readonly flags!: number[];
  @ApiProperty({
    type: [String],
    example: ['failed to'],
    description: 'What was found in the spans with the flag 2, or the reason of the mark, in their order',
  })
  readonly patterns!: string[];
  @ApiProperty({
    example: '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f',
    description: 'Of the spans that have an execution, 36 characters each, in their order',
  })
  readonly execution_ids!: string;
}
