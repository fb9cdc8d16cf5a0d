import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { playbookStatuses } from './playbook.types.js';
import type { PlaybookStatus } from './playbook.types.js';

const time = '2026-01-23T10:30:00.000Z';
const who = 'dora@example.com';

export class PlaybookCreatedBody {
  @ApiProperty({ example: 'api-latency-shed-load' }) readonly playbook_id!: string;
  @ApiProperty({ example: '1.0.0' }) readonly version!: string;
  @ApiProperty({ enum: playbookStatuses, example: 'active' }) readonly status!: PlaybookStatus;
  @ApiProperty({ example: true }) readonly is_latest_version!: boolean;
  @ApiProperty({ example: time }) readonly created_at!: string;
}

export class PlaybookVersionKeyBody {
  @ApiProperty({ example: 'cluster-dns-repair' }) readonly playbook_id!: string;
  @ApiProperty({ example: '1.4.0' }) readonly version!: string;
}

export class PlaybookImportBody {
  @ApiProperty({ type: [PlaybookCreatedBody] }) readonly imported!: PlaybookCreatedBody[];
  @ApiProperty({ type: [PlaybookVersionKeyBody], description: 'Stored already with the same content' })
  readonly unchanged!: PlaybookVersionKeyBody[];
}

export class PlaybookStatusBody {
  @ApiProperty({ example: 'api-latency-shed-load' }) readonly playbook_id!: string;
  @ApiProperty({ example: '1.0.0' }) readonly version!: string;
  @ApiProperty({ enum: playbookStatuses, example: 'disabled' }) readonly status!: PlaybookStatus;
  @ApiProperty({ type: String, nullable: true, example: time }) readonly disabled_at!: string | null;
  @ApiProperty({ type: String, nullable: true, example: who }) readonly disabled_by!: string | null;
  @ApiProperty({ type: String, nullable: true, example: 'Made the outage of 12 March worse' })
  readonly disabled_reason!: string | null;
}

export class PlaybookDeprecatedBody {
  @ApiProperty({ example: 'cluster-dns-repair' }) readonly playbook_id!: string;
  @ApiProperty({ example: '1.4.0' }) readonly version!: string;
  @ApiProperty({ enum: playbookStatuses, example: 'deprecated' }) readonly status!: PlaybookStatus;
  @ApiProperty({ example: time }) readonly deprecated_at!: string;
  @ApiProperty({ example: who }) readonly deprecated_by!: string;
  @ApiProperty({ example: 'Use cluster-dns-cache instead' }) readonly deprecation_notice!: string;
}

export class PlaybookArchivedBody {
  @ApiProperty({ example: 'cluster-dns-repair' }) readonly playbook_id!: string;
  @ApiProperty({ example: '1.4.0' }) readonly version!: string;
  @ApiProperty({ enum: playbookStatuses, example: 'archived' }) readonly status!: PlaybookStatus;
  @ApiProperty({ example: time }) readonly archived_at!: string;
  @ApiProperty({ example: who }) readonly archived_by!: string;
  @ApiProperty({ example: 'The cluster that it was for is gone' }) readonly archived_reason!: string;
}

export class PlaybookOutcomeBody {
  @ApiProperty({ example: 'cluster-dns-repair' }) readonly playbook_id!: string;
  @ApiProperty({ example: '1.4.0' }) readonly version!: string;
  @ApiProperty({ example: 12 }) readonly total_executions!: number;
  @ApiProperty({ example: 10 }) readonly successful_executions!: number;
  @ApiProperty({ type: Number, nullable: true, example: 0.833, description: 'Three decimals' })
  readonly actual_success_rate!: number | null;
  @ApiProperty({ example: true, description: 'False: this execution had been reported before' })
  readonly counted!: boolean;
}

const anyJson = {
  oneOf: [
    { type: 'string', nullable: true },
    { type: 'number' },
    { type: 'boolean' },
    { type: 'array', items: {} },
    { type: 'object', additionalProperties: true },
  ],
};

export class JsonChangeBody {
  @ApiProperty({ example: '/content/steps/1/action', description: 'JSON pointer into a version' })
  readonly pointer!: string;
  @ApiProperty({ enum: ['added', 'removed', 'changed'], example: 'changed' }) readonly change!: string;
  @ApiPropertyOptional({ ...anyJson, description: 'Absent where it was added', example: 'RestartPod' })
  readonly from?: unknown;
  @ApiPropertyOptional({
    ...anyJson,
    description: 'Absent where it was removed',
    example: 'RestartDeployment',
  })
  readonly to?: unknown;
}

export class PlaybookDiffBody {
  @ApiProperty({ example: 'cluster-dns-repair' }) readonly playbook_id!: string;
  @ApiProperty({ example: '1.2.0' }) readonly from!: string;
  @ApiProperty({ example: '1.4.0' }) readonly to!: string;
  @ApiProperty({ type: [JsonChangeBody], description: 'Empty: the same but for the version' })
  readonly changes!: JsonChangeBody[];
}
