import {
  Example,
  OneOfThese,
  Texts,
  NullableNumber,
  NullableText,
  PageOf,
  SentBackBy,
} from '../../web/rest/dto.js';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type PlaybookLabels, type PlaybookStatus, playbookStatuses } from './playbook.types.js';
import {
  ArchivePlaybookBody,
  DeprecatePlaybookBody,
  DisablePlaybookBody,
  EnablePlaybookBody,
} from './playbook-bodies.dto.js';

const time = '2026-01-23T10:30:00.000Z';

/** A version of a playbook. */
export class PlaybookVersionKeyView {
  @Example('cluster-dns-repair') readonly playbook_id!: string;
  @Example('1.4.0') readonly version!: string;
}

/** Whether and when a version was shown to an investigation. */
export class ShownToInvestigationView {
  @Example('inv-2026-0117') readonly investigation_id!: string;
  @Example(true, 'Also false if the investigation has expired') readonly shown!: boolean;
  @NullableText(time) readonly first_shown_at!: Date | null;
  @NullableText(time) readonly last_shown_at!: Date | null;
  @Example(2, 'Number of answers with it') readonly times!: number;
}

/** A version that was shown to an investigation. */
export class ShownPlaybookView {
  @Example('oomkill-increase-memory') readonly playbook_id!: string;
  @Example('1.2.0') readonly version!: string;
  @ApiProperty({ type: String, example: time }) readonly first_shown_at!: Date;
  @ApiProperty({ type: String, example: time }) readonly last_shown_at!: Date;
  @Example(2, 'Number of answers with it') readonly times!: number;
}

export class ShownPlaybooksView {
  @Example('inv-2026-0117') readonly investigation_id!: string;
  @ApiProperty({ type: [ShownPlaybookView], description: 'By playbook and version' })
  readonly playbooks!: ShownPlaybookView[];
  @Example(1) readonly total!: number;
}

/** A version in the list of a playbook's versions. */
export class PlaybookVersionSummaryView {
  @Example('1.0.0') readonly version!: string;
  @OneOfThese(playbookStatuses, 'active') readonly status!: PlaybookStatus;
  @Example(true) readonly is_latest_version!: boolean;
  @NullableNumber(0.83) readonly actual_success_rate!: number | null;
  @Example(12) readonly total_executions!: number;
  @ApiProperty({ type: String, example: time }) readonly created_at!: Date;
  @ApiPropertyOptional({ example: 'Use 2.0.0' }) readonly deprecation_notice?: string;
}

export class PlaybookVersionsView {
  @Example('api-latency-shed-load') readonly playbook_id!: string;
  @ApiProperty({ type: [PlaybookVersionSummaryView], description: 'Newest first' })
  readonly versions!: PlaybookVersionSummaryView[];
  @Example(1) readonly total_versions!: number;
}

/** A playbook without its procedure, as lists show it. */
export class PlaybookSummaryView extends PlaybookVersionKeyView {
  @Example('Repair name resolution inside the cluster') readonly name!: string;
  @Example('Pods cannot resolve service names or outside hosts.') readonly description!: string;
  @NullableText('platform-network') readonly owner!: string | null;
  @ApiProperty({
    type: 'object',
    additionalProperties: { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
    example: { environment: '*', priority: ['P0', 'P1'] },
  })
  readonly labels!: PlaybookLabels;
  @OneOfThese(playbookStatuses, 'active') readonly status!: PlaybookStatus;
  @NullableNumber(0.83, 'Share of successful outcomes; null if none was recorded')
  readonly actual_success_rate!: number | null;
  @Example(12, 'Outcomes of this version') readonly total_executions!: number;
  @ApiProperty({ type: String, example: time }) readonly created_at!: Date;
  @ApiProperty({ type: String, example: time }) readonly updated_at!: Date;
}

/** The latest version of a playbook. */
export class ListedPlaybookView extends PlaybookSummaryView {
  @Example(3, 'Versions of any status') readonly total_versions!: number;
}

export class PlaybookPageView extends PageOf(ListedPlaybookView, {
  description: 'Latest versions, by playbook_id',
}) {}

export class StatusChangeView {
  @OneOfThese(playbookStatuses, 'active') readonly from_status!: PlaybookStatus;
  @OneOfThese(playbookStatuses, 'disabled') readonly to_status!: PlaybookStatus;
  @ApiProperty({ type: String, example: time }) readonly changed_at!: Date;
  @Example('dora@example.com') readonly changed_by!: string;
  @NullableText('Made the outage of 12 March worse') readonly reason!: string | null;
}

/** A version with all fields. */
@SentBackBy(DisablePlaybookBody)
@SentBackBy(EnablePlaybookBody)
@SentBackBy(DeprecatePlaybookBody)
@SentBackBy(ArchivePlaybookBody)
export class PlaybookView extends PlaybookSummaryView {
  @NullableText(null) readonly maintainer!: string | null;
  @ApiProperty({
    oneOf: [{ type: 'object', additionalProperties: true }, { type: 'string' }],
    example: { kind: 'RemediationPlaybook', steps: [] },
  })
  readonly content!: unknown;
  @ApiProperty({
    description: "SHA-256 of all of the author's fields",
    example: 'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9',
  })
  readonly content_hash!: string;
  @Texts(['no such host', 'SERVFAIL']) readonly signals!: readonly string[];
  @Texts(['slow DNS lookups']) readonly aliases!: readonly string[];
  @NullableText('nslookup from a pod fails.') readonly when_to_use!: string | null;
  @NullableText('Connections by IP address fail as well.') readonly when_not_to_use!: string | null;
  @NullableText(null) readonly disabled_at!: Date | null;
  @NullableText(null) readonly disabled_by!: string | null;
  @NullableText(null) readonly disabled_reason!: string | null;
  @Example(true) readonly is_latest_version!: boolean;
  @NullableText('1.2.0') readonly previous_version!: string | null;
  @NullableText(null) readonly deprecation_notice!: string | null;
  @NullableNumber(0.89) readonly expected_success_rate!: number | null;
  @NullableNumber(300) readonly expected_duration_seconds!: number | null;
  @Example(0) readonly successful_executions!: number;
  @NullableText(null) readonly version_notes!: string | null;
  @NullableText(null) readonly change_summary!: string | null;
  @NullableText('import') readonly created_by!: string | null;
  @NullableText('import') readonly updated_by!: string | null;
  @ApiProperty({ type: [StatusChangeView], description: 'Oldest first' })
  readonly status_history!: StatusChangeView[];
  @ApiPropertyOptional({ type: ShownToInvestigationView, description: 'With investigationId' })
  readonly shown_to_investigation?: ShownToInvestigationView;
}

const author = 'dora@example.com';

/** A version that was stored. */
export class PlaybookCreatedView extends PlaybookVersionKeyView {
  @OneOfThese(playbookStatuses, 'active') readonly status!: PlaybookStatus;
  @Example(true) readonly is_latest_version!: boolean;
  @ApiProperty({ type: String, example: time }) readonly created_at!: Date;
}

export class PlaybookImportView {
  @ApiProperty({ type: [PlaybookCreatedView] }) readonly imported!: PlaybookCreatedView[];
  @ApiProperty({ type: [PlaybookVersionKeyView], description: 'Already stored with the same content' })
  readonly unchanged!: PlaybookVersionKeyView[];
}

/** The answer to a change between active and disabled. */
export class PlaybookStatusView extends PlaybookVersionKeyView {
  @OneOfThese(playbookStatuses, 'disabled') readonly status!: PlaybookStatus;
  @NullableText(time) readonly disabled_at!: Date | null;
  @NullableText(author) readonly disabled_by!: string | null;
  @NullableText('Made the outage of 12 March worse') readonly disabled_reason!: string | null;
}

export class PlaybookDeprecatedView extends PlaybookVersionKeyView {
  @OneOfThese(playbookStatuses, 'deprecated') readonly status!: PlaybookStatus;
  @ApiProperty({ type: String, example: time }) readonly deprecated_at!: Date;
  @Example(author) readonly deprecated_by!: string;
  @Example('Use cluster-dns-cache instead') readonly deprecation_notice!: string;
}

export class PlaybookArchivedView extends PlaybookVersionKeyView {
  @OneOfThese(playbookStatuses, 'archived') readonly status!: PlaybookStatus;
  @ApiProperty({ type: String, example: time }) readonly archived_at!: Date;
  @Example(author) readonly archived_by!: string;
  @Example('The cluster that it was for is gone') readonly archived_reason!: string;
}

/** The statistics of a version after an outcome was reported. */
export class PlaybookOutcomeView extends PlaybookVersionKeyView {
  @Example(12) readonly total_executions!: number;
  @Example(10) readonly successful_executions!: number;
  @NullableNumber(0.833, 'Three decimals') readonly actual_success_rate!: number | null;
  @Example(true, 'False: this execution had been reported before') readonly counted!: boolean;
}

/** A schema of any JSON value. */
const anyJson = {
  oneOf: [
    { type: 'string', nullable: true },
    { type: 'number' },
    { type: 'boolean' },
    { type: 'array', items: {} },
    { type: 'object', additionalProperties: true },
  ],
};

/** A difference between two versions. */
export class JsonChangeView {
  @Example('/content/steps/1/action', 'JSON pointer into a version') readonly pointer!: string;
  @OneOfThese(['added', 'removed', 'changed'], 'changed') readonly change!: 'added' | 'removed' | 'changed';
  @ApiPropertyOptional({ ...anyJson, description: 'Absent if it was added', example: 'RestartPod' })
  readonly from?: unknown;
  @ApiPropertyOptional({
    ...anyJson,
    description: 'Absent if it was removed',
    example: 'RestartDeployment',
  })
  readonly to?: unknown;
}

export class PlaybookDiffView {
  @Example('cluster-dns-repair') readonly playbook_id!: string;
  @Example('1.2.0') readonly from!: string;
  @Example('1.4.0') readonly to!: string;
  @ApiProperty({ type: [JsonChangeView], description: 'Empty if only the versions differ' })
  readonly changes!: JsonChangeView[];
}

/** A stored version. */
export type PlaybookRow = Omit<PlaybookView, 'status_history' | 'shown_to_investigation'>;
