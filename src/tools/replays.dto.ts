import { ApiProperty } from '@nestjs/swagger';
import { FreeJson, OptionalInt } from '../rest/dto.js';
import { PayloadView } from '../records/executions/payloads.dto.js';
import { ExecutionView } from '../records/executions/tool-metrics.dto.js';
import { OutcomeView } from './tools.dto.js';

export class ReplayBody {
  @OptionalInt(1, 2_147_483_647, {
    description:
      "Of a custom tool: run on this revision's configuration, with the files of now. Absent: as it is now",
  })
  readonly revision?: number;
  @FreeJson({ required: false, description: 'Any JSON value. Absent: the input that was captured' })
  readonly input?: unknown;
}

/** Both sides of a comparison. */
export class ReplayView {
  @ApiProperty({ type: OutcomeView, description: 'Of the replay' }) readonly outcome!: object;
  @ApiProperty({ type: ExecutionView, description: 'The record of the execution that was replayed' })
  readonly original!: ExecutionView;
  @ApiProperty({
    type: PayloadView,
    nullable: true,
    description: 'What that one was given and answered; null where it was not captured',
  })
  readonly payload!: PayloadView | null;
}
