import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type PlaybookLabels, playbookStatuses } from './playbook.types.js';
import type { PlaybookStatus } from './playbook.types.js';
import { ShownToInvestigationBody } from './shown/shown-playbooks.answers.js';

const time = '2026-01-23T10:30:00.000Z';

export class PlaybookVersionSummary {
  @ApiProperty({ example: '1.0.0' }) readonly version!: string;
  @ApiProperty({ enum: playbookStatuses, example: 'active' }) readonly status!: PlaybookStatus;
  @ApiProperty({ example: true }) readonly is_latest_version!: boolean;
  @ApiProperty({ type: Number, nullable: true, example: 0.83 }) readonly actual_success_rate!: number | null;
  @ApiProperty({ example: 12 }) readonly total_executions!: number;
  @ApiProperty({ example: time }) readonly created_at!: string;
  @ApiPropertyOptional({ example: 'Use 2.0.0' }) readonly deprecation_notice?: string;
}

export class PlaybookVersionsBody {
  @ApiProperty({ example: 'api-latency-shed-load' }) readonly playbook_id!: string;
  @ApiProperty({ type: [PlaybookVersionSummary], description: 'Newest first' })
  readonly versions!: PlaybookVersionSummary[];
  @ApiProperty({ example: 1 }) readonly total_versions!: number;
}

/** A playbook without its procedure, as lists show it. */
export class PlaybookSummaryBody {
  @ApiProperty({ example: 'cluster-dns-repair' }) readonly playbook_id!: string;
  @ApiProperty({ example: '1.4.0' }) readonly version!: string;
  @ApiProperty({ example: 'Repair name resolution inside the cluster' }) readonly name!: string;
  @ApiProperty({ example: 'Pods cannot resolve service names or outside hosts.' })
  readonly description!: string;
  @ApiProperty({ type: String, nullable: true, example: 'platform-network' }) readonly owner!: string | null;
  @ApiProperty({
    type: 'object',
    additionalProperties: { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
    example: { environment: '*', priority: ['P0', 'P1'] },
  })
  readonly labels!: PlaybookLabels;
  @ApiProperty({ enum: playbookStatuses, example: 'active' }) readonly status!: PlaybookStatus;
  @ApiProperty({ example: time }) readonly created_at!: string;
  @ApiProperty({ example: time }) readonly updated_at!: string;
}

export class PlaybookPageBody {
  @ApiProperty({ type: [PlaybookSummaryBody], description: 'Latest versions, by playbook_id' })
  readonly data!: PlaybookSummaryBody[];
  @ApiProperty({ type: String, nullable: true, example: null }) readonly nextCursor!: string | null;
}

/** Who changed a version's status, when and why. */
export class StatusChangeBody {
  @ApiProperty({ enum: playbookStatuses, example: 'active' }) readonly from_status!: PlaybookStatus;
  @ApiProperty({ enum: playbookStatuses, example: 'disabled' }) readonly to_status!: PlaybookStatus;
  @ApiProperty({ example: time }) readonly changed_at!: string;
  @ApiProperty({ example: 'dora@example.com' }) readonly changed_by!: string;
  @ApiProperty({ type: String, nullable: true, example: 'Made the outage of 12 March worse' })
  readonly reason!: string | null;
}

/** One version with everything its author wrote. */
export class PlaybookBody extends PlaybookSummaryBody {
  @ApiProperty({ type: String, nullable: true, example: null }) readonly maintainer!: string | null;
  @ApiProperty({
    oneOf: [{ type: 'object', additionalProperties: true }, { type: 'string' }],
    example: { kind: 'RemediationPlaybook', steps: [] },
  })
  readonly content!: unknown;
  @ApiProperty({
    description: 'SHA-256 of everything the author wrote',
    example: 'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9',
  })
  readonly content_hash!: string;
  @ApiProperty({ type: [String], example: ['no such host', 'SERVFAIL'] }) readonly signals!: string[];
  @ApiProperty({ type: [String], example: ['slow DNS lookups'] }) readonly aliases!: string[];
  @ApiProperty({ type: String, nullable: true, example: 'nslookup from a pod fails.' })
  readonly when_to_use!: string | null;
  @ApiProperty({ type: String, nullable: true, example: 'Connections by IP address fail as well.' })
  readonly when_not_to_use!: string | null;
  @ApiProperty({ type: String, nullable: true, example: null }) readonly disabled_at!: string | null;
  @ApiProperty({ type: String, nullable: true, example: null }) readonly disabled_by!: string | null;
  @ApiProperty({ type: String, nullable: true, example: null }) readonly disabled_reason!: string | null;
  @ApiProperty({ example: true }) readonly is_latest_version!: boolean;
  @ApiProperty({ type: String, nullable: true, example: '1.2.0' }) readonly previous_version!: string | null;
  @ApiProperty({ type: String, nullable: true, example: null }) readonly deprecation_notice!: string | null;
  @ApiProperty({ type: Number, nullable: true, example: 0.89 }) readonly expected_success_rate!:
    number | null;
  @ApiProperty({ type: Number, nullable: true, example: 300 }) readonly expected_duration_seconds!:
    number | null;
  @ApiProperty({ type: Number, nullable: true, example: null }) readonly actual_success_rate!: number | null;
  @ApiProperty({ example: 0 }) readonly total_executions!: number;
  @ApiProperty({ example: 0 }) readonly successful_executions!: number;
  @ApiProperty({ type: String, nullable: true, example: null }) readonly version_notes!: string | null;
  @ApiProperty({ type: String, nullable: true, example: null }) readonly change_summary!: string | null;
  @ApiProperty({ type: String, nullable: true, example: 'import' }) readonly created_by!: string | null;
  @ApiProperty({ type: String, nullable: true, example: 'import' }) readonly updated_by!: string | null;
  @ApiProperty({ type: [StatusChangeBody], description: 'Oldest first' })
  readonly status_history!: StatusChangeBody[];
  @ApiPropertyOptional({ type: ShownToInvestigationBody, description: 'With investigationId' })
  readonly shown_to_investigation?: ShownToInvestigationBody;
}
