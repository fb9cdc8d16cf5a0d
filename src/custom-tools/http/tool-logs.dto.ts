import { ApiProperty } from '@nestjs/swagger';
import { Limit, NullableText, Ruled } from '../../rest/dto.js';
import { LogEntryView } from '../logs/tool-logs.js';

const idPattern = /^[a-z0-9]{1,16}-\d{1,15}$/;

export class LogsQuery {
  @Limit(100) readonly limit!: number;
  @(Ruled('must be the id of a log entry', (id) => idPattern.test(String(id)))({
    required: false,
    example: 'mhq3k2x1-41',
    description: 'Only what came after the entry of this id; absent: the latest entries',
  }))
  readonly since?: string;
}

export class LogPageView {
  @ApiProperty({ type: [LogEntryView], description: 'Oldest first' }) readonly data!: LogEntryView[];
  @NullableText('mhq3k2x1-42', 'Send it as since for what comes next')
  readonly nextSince!: string | null;
  @ApiProperty({ example: 0, description: 'Entries after since that had to make room before they were read' })
  readonly missed!: number;
}
