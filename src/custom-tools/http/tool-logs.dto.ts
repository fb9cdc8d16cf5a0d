import { ApiProperty } from '@nestjs/swagger';
import { Limit, NullableText, Ruled } from '../../rest/dto.js';
import { LogEntryView } from '../logs/tool-logs.js';

/** An id for each replica, of which there are 256 at most. */
const idsPattern = /^[a-z0-9]{1,16}-\d{1,15}(,[a-z0-9]{1,16}-\d{1,15}){0,255}$/;

export class LogsQuery {
  @Limit(100) readonly limit!: number;
  @(Ruled('must be nextSince of an earlier page, or the id of a log entry', (ids) =>
    idsPattern.test(String(ids)),
  )({
    required: false,
    example: 'mhq3k2x19f2c6b-41,mhq3k2x4a07d31-7',
    description: 'Only what came after: `nextSince` of an earlier page; absent: the latest entries',
  }))
  readonly since?: string;
}

export class LogPageView {
  @ApiProperty({ type: [LogEntryView], description: 'Of all replicas, oldest first' })
  readonly data!: LogEntryView[];
  @NullableText('mhq3k2x19f2c6b-42,mhq3k2x4a07d31-7', 'Send it as since for what comes next')
  readonly nextSince!: string | null;
  @ApiProperty({ example: 0, description: 'Entries after since that had to make room before they were read' })
  readonly missed!: number;
  @ApiProperty({ example: false, description: 'Whether a replica did not answer within a second' })
  readonly partial!: boolean;
}
