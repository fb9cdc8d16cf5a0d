import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type LogEvent, type LogLevel, logLevels } from '../logs/tool-logs.js';
import { Limit, Ruled } from '../../rest/dto.js';

const idPattern = /^[a-z0-9]{1,16}-\d{1,15}$/;
const events: readonly LogEvent[] = [
  'spawn',
  'execute',
  'response',
  'error',
  'health',
  'terminate',
  'stderr',
  'stdout',
  'log',
];

export class LogsQuery {
  @Limit(100) readonly limit!: number;
  @(Ruled('must be the id of a log entry', (id) => idPattern.test(String(id)))({
    required: false,
    example: 'mhq3k2x1-41',
    description: 'Only what came after the entry of this id; absent: the latest entries',
  }))
  readonly since?: string;
}

export class LogEntryView {
  @ApiProperty({ example: 'mhq3k2x1-42' }) readonly id!: string;
  @ApiProperty({ format: 'date-time', example: '2026-01-23T10:30:00.000Z' }) readonly timestamp!: string;
  @ApiProperty({ enum: logLevels, example: 'info' }) readonly level!: LogLevel;
  @ApiProperty({ example: 'log_summary' }) readonly tool!: string;
  @ApiProperty({
    enum: events,
    example: 'stderr',
    description:
      'spawn: a process starts, or is ready; terminate: it ended; error: a start failed, or lines were left out; health: the status changed; stderr, stdout: a line that the tool wrote; log: what it said in a log notification',
  })
  readonly event!: LogEvent;
  @ApiPropertyOptional({ example: '3 lines had no time' }) readonly message?: string;
  @ApiPropertyOptional({ example: 4711 }) readonly pid?: number;
  @ApiPropertyOptional({ example: 18.2, description: 'Of a start, from spawn to ready' })
  readonly durationMs?: number;
  @ApiPropertyOptional({ example: 'crash' }) readonly error?: string;
  @ApiPropertyOptional({ example: 'idle', description: 'Why a process ended' }) readonly reason?: string;
  @ApiPropertyOptional({ type: Number, nullable: true, example: 0 }) readonly exitCode?: number | null;
  @ApiPropertyOptional({ type: String, nullable: true, example: null }) readonly signal?: string | null;
  @ApiPropertyOptional({ example: { lines: 3 }, description: 'Of a log notification, any JSON value' })
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
  @ApiProperty({ type: [LogEntryView], description: 'Oldest first' }) readonly data!: LogEntryView[];
  @ApiProperty({
    type: String,
    nullable: true,
    example: 'mhq3k2x1-42',
    description: 'Send it as since for what comes next',
  })
  readonly nextSince!: string | null;
  @ApiProperty({ example: 0, description: 'Entries after since that had to make room before they were read' })
  readonly missed!: number;
}
