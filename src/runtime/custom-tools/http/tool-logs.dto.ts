import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Limit, NullableText, Ruled } from '../../../web/rest/dto.js';
import { type LogEntry, type LogEvent, logEvents, type LogLevel, logLevels } from '../logs/tool-logs.js';

/** Ids of log entries, one per replica, of which there are at most 256. */
const idsPattern = /^[a-z0-9]{1,16}-\d{1,15}(,[a-z0-9]{1,16}-\d{1,15}){0,255}$/;

export class LogsQuery {
  @Limit(100) readonly limit!: number;
  @(Ruled('must be the id of a log entry, or nextSince', (ids) => idsPattern.test(String(ids)))({
    required: false,
    example: 'mhq3k2x19f2c6b-41,mhq3k2x4a07d31-7',
    description: 'Only entries after these: `nextSince` of an earlier page; absent: the latest entries',
  }))
  readonly since?: string;
}

export class LogEntryView implements LogEntry {
  @ApiProperty({ example: 'mhq3k2x1-42' }) readonly id!: string;
  @ApiProperty({ format: 'date-time', example: '2026-01-23T10:30:00.000Z' }) readonly timestamp!: string;
  @ApiProperty({ enum: logLevels, example: 'info' }) readonly level!: LogLevel;
  @ApiProperty({ example: 'log_summary' }) readonly tool!: string;
  @ApiProperty({ example: 'gateway-2:17:mhq3k2x1', description: 'Where the line was written' })
  readonly replica!: string;
  @ApiProperty({
    enum: logEvents,
    example: 'stderr',
    description:
      'spawn: a process starts, or is ready; terminate: it ended; error: a start failed, or lines were left out; health: the status changed; stderr, stdout: a line that the tool wrote; log: a log notification',
  })
  readonly event!: LogEvent;
  @ApiPropertyOptional({ example: '3 lines had no time' }) readonly message?: string;
  @ApiPropertyOptional({ example: 4711 }) readonly pid?: number;
  @ApiPropertyOptional({ example: 18.2, description: 'Duration of a start, from spawn to ready' })
  readonly durationMs?: number;
  @ApiPropertyOptional({ example: 'crash' }) readonly error?: string;
  @ApiPropertyOptional({ example: 'idle', description: 'Why a process ended' }) readonly reason?: string;
  @ApiPropertyOptional({ type: Number, nullable: true, example: 0 }) readonly exitCode?: number | null;
  @ApiPropertyOptional({ type: String, nullable: true, example: null }) readonly signal?: string | null;
  @ApiPropertyOptional({ example: { lines: 3 }, description: 'Of a log notification: any JSON value' })
  readonly data?: unknown;
  @ApiPropertyOptional({
    example: '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f',
    description: 'The call that a log notification is about',
  })
  readonly executionId?: string;
  @ApiPropertyOptional({
    example: true,
    description: 'More than 4 KiB: a message is cut off, data are left out',
  })
  readonly truncated?: true;
}

export class LogPageView {
  @ApiProperty({ type: [LogEntryView], description: 'Entries of all replicas, oldest first' })
  readonly data!: LogEntryView[];
  @NullableText('mhq3k2x19f2c6b-42,mhq3k2x4a07d31-7', 'Send it as since for the next entries')
  readonly nextSince!: string | null;
  @ApiProperty({ example: 0, description: 'Entries after since that were dropped before they were read' })
  readonly missed!: number;
  @ApiProperty({ example: false, description: 'Whether a replica did not answer within a second' })
  readonly partial!: boolean;
}
