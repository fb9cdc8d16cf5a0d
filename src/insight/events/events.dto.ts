import { ApiProperty } from '@nestjs/swagger';
import { type ToolEventType, toolEventTypes } from '../../base/streams/tool-events.js';
import {
  Example,
  Limit,
  Many,
  NullableText,
  OptionalText,
  OptionalTextList,
  ProjectQuery,
  SomeOf,
  TextList,
} from '../../web/rest/dto.js';

export class EventsQuery {
  @OptionalTextList({
    maxItems: 100,
    maxLength: 128,
    example: ['disk_usage'],
    description: 'Names of tools, comma-separated',
  })
  readonly tool?: string[];
  @SomeOf(toolEventTypes, {
    required: false,
    example: ['tool.crashed', 'circuit.opened'],
    description: 'Types of events, comma-separated',
  })
  readonly type?: ToolEventType[];
  @Limit(100, { description: 'Max events of a page; a stream has no limit' }) readonly limit!: number;
  @OptionalText(128, {
    description: 'Id of the last event that was received; the header Last-Event-ID takes precedence',
  })
  readonly since?: string;
}

export class TopicsQuery extends ProjectQuery {
  @TextList({
    minItems: 1,
    maxItems: 20,
    minLength: 1,
    maxLength: 128,
    uniqueItems: true,
    example: ['events', 'logs:log_summary'],
    description:
      'Comma-separated: `events`, `executions` that ended on this server, `logs:<tool>` for each tool whose log is followed, `spans` or `spans:<project>` for new spans, and `ui:<session>` for the calls that a page answers',
  })
  readonly topics!: string[];
}

export class EventView {
  @Example('mhq3k2x19f2c6b01-42') readonly id!: string;
  @ApiProperty({ enum: toolEventTypes, example: 'circuit.opened' }) readonly type!: ToolEventType;
  @Example('disk_usage') readonly tool!: string;
  @ApiProperty({ format: 'date-time', example: '2026-01-23T10:30:00.000Z' }) readonly timestamp!: string;
  @Example('5 of 8 calls failed in 300 s') readonly message!: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { from: 'closed', to: 'open', by: null },
    description: 'By type: `from`, `to`, `by`; `exitCode`, `signal`; `healthStatus`; `status`',
  })
  readonly data!: object;
}

export class EventPageView {
  @Many(EventView, 'Oldest first') readonly data!: EventView[];
  @NullableText('mhq3k2x19f2c6b01-42') readonly nextSince!: string | null;
  @Example(0, 'Number of events after `since` that were dropped, because only the newest are kept')
  readonly missed!: number;
  @Example(false, 'Whether `since` is not among the newest events') readonly reset!: boolean;
}
