import { ApiProperty } from '@nestjs/swagger';
import { ToolMetric } from './tool-metric.entity.js';

/** A recorded execution with what was found out about it later. */
export class Execution extends ToolMetric {
  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'Why its answer was wrong although it came to its end; null where nobody said so',
  })
  semanticFailure!: string | null;
}
