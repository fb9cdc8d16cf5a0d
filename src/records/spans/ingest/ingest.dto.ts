import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

const microseconds = 'Microseconds since 1970';

export const exampleSpan = {
  trace_id: '7bba9f33312b3dbb8b2c2c62bb7abe2d',
  span_id: '086e83747d0e381e',
  parent_span_id: null,
  thread_id: 'thread-1',
  run_id: 'run-1',
  operation_name: 'api_invoke',
  start_time_us: 1_769_164_200_000_000,
  finish_time_us: 1_769_164_201_500_000,
  attribute: { model_name: 'gpt-4o', cost: 0.0021, usage: { input_tokens: 512, output_tokens: 64 } },
};

/** A span as vLLora has it. Other members are passed over. */
export class VlloraSpanBody {
  @ApiProperty({ example: exampleSpan.trace_id }) readonly trace_id!: string;
  @ApiProperty({ example: exampleSpan.span_id }) readonly span_id!: string;
  @ApiPropertyOptional({ type: String, nullable: true }) readonly parent_span_id?: string | null;
  @ApiPropertyOptional({ type: String, nullable: true, example: 'thread-1' }) readonly thread_id?:
    string | null;
  @ApiPropertyOptional({ type: String, nullable: true, example: 'run-1' }) readonly run_id?: string | null;
  @ApiProperty({ example: exampleSpan.operation_name }) readonly operation_name!: string;
  @ApiProperty({ example: exampleSpan.start_time_us, description: microseconds })
  readonly start_time_us!: number;
  @ApiProperty({ example: exampleSpan.finish_time_us, description: microseconds })
  readonly finish_time_us!: number;
  @ApiPropertyOptional({ type: 'object', additionalProperties: true, example: exampleSpan.attribute })
  readonly attribute?: object;
}

/** The fate of a batch of spans. */
export class TakenSpansView {
  @ApiProperty({ example: 2, description: 'Spans that are stored durably' })
  readonly taken!: number;
  @ApiProperty({ example: 0, description: 'Spans that are not: to send them again would be of no use' })
  readonly rejected!: number;
  @ApiPropertyOptional({ example: 'Span 3 of the batch: it ends before it starts' })
  readonly reason?: string;
}
