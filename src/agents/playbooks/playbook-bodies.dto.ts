import type { PlaybookLabels } from './playbook.types.js';
import { Content, Labels, Phrases, PlaybookId, Version } from './playbook.validators.js';
import {
  Cursor,
  Flag,
  OptionalFlag,
  OptionalInt,
  OptionalNum,
  OptionalText,
  Text,
} from '../../web/rest/dto.js';

/**
 * A new version of a playbook, in requests and in files of the sample catalogue. Field names are those of kubernaut's
 * catalogue.
 */
export class CreatePlaybookBody {
  @PlaybookId({ example: 'api-latency-shed-load', maxLength: 128 }) readonly playbook_id!: string;
  @Version({
    example: '1.0.0',
    description: 'v?MAJOR[.MINOR[.PATCH]][-pre], greater than every stored version',
  })
  readonly version!: string;
  @Text(200, { example: 'Shed load from a slow API' }) readonly name!: string;
  @Text(4_000, {
    example: 'Latency of an API grows with its queue. Turns optional work off until it has recovered.',
  })
  readonly description!: string;
  @OptionalText(200, { nullable: true, example: 'team-edge' }) readonly owner?: string;
  @OptionalText(200, { nullable: true, example: 'edge-oncall@example.com' }) readonly maintainer?: string;
  @Content({
    description: 'The procedure: an object, or text in the format that its executor reads',
    oneOf: [{ type: 'object', additionalProperties: true }, { type: 'string' }],
    example: {
      kind: 'RemediationPlaybook',
      steps: [
        { name: 'shed', action: 'ReconfigureResource', description: 'Set feature.recommendations=off' },
      ],
    },
  })
  readonly content!: unknown;
  @Labels({
    required: false,
    nullable: true,
    description: 'Values for which the playbook is meant, by short key; * means any value',
    type: 'object',
    additionalProperties: { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
    example: { environment: '*', priority: ['P1', 'P2'] },
  })
  readonly labels?: PlaybookLabels;
  @Phrases({
    type: [String],
    required: false,
    nullable: true,
    description: 'Words that occur in such incidents',
    example: ['HighRequestLatency'],
  })
  readonly signals?: readonly string[];
  @Phrases({
    type: [String],
    required: false,
    nullable: true,
    description: 'Synonyms',
    example: ['slow api', 'overload'],
  })
  readonly aliases?: readonly string[];
  @OptionalText(2_000, { nullable: true, example: 'The queue grows and optional features are known.' })
  readonly when_to_use?: string;
  @OptionalText(2_000, { nullable: true, example: 'A dependency is down.' })
  readonly when_not_to_use?: string;
  @OptionalText(4_000, {
    nullable: true,
    example: 'Rehearsed on 3 March.',
    description: 'Notes on this version',
  })
  readonly version_notes?: string;
  @OptionalText(4_000, {
    nullable: true,
    example: 'First version.',
    description: 'Changes since the version before',
  })
  readonly change_summary?: string;
  @OptionalNum({ nullable: true, minimum: 0, maximum: 1, example: 0.8 })
  readonly expected_success_rate?: number;
  @OptionalInt(0, 2_147_483_647, { nullable: true, example: 300 })
  readonly expected_duration_seconds?: number;
}

export class ListPlaybooksQuery {
  @OptionalInt(1, 100, { example: 50, default: 50 }) readonly limit!: number;
  @Cursor() readonly cursor?: string;
}

export class PlaybookIdParams {
  @PlaybookId({ example: 'cluster-dns-repair' }) readonly id!: string;
}

export class PlaybookVersionParams extends PlaybookIdParams {
  @Version({ example: '1.4.0' }) readonly version!: string;
}

export class PlaybookDiffParams extends PlaybookIdParams {
  @Version({ example: '1.3.0' }) readonly from!: string;
  @Version({ example: '1.4.0' }) readonly to!: string;
}

export class ShownQuery {
  @Text(256, { example: 'inv-2026-0117' }) readonly investigationId!: string;
}

export class VersionQuery {
  @OptionalText(256, {
    example: 'inv-2026-0117',
    description: 'Also answer whether the version was shown to this investigation',
  })
  readonly investigationId?: string;
}

export class VersionsQuery {
  @OptionalFlag({ default: false, example: true }) readonly include_disabled!: boolean;
}

const author = 'dora@example.com';

/** Author and reason of a status change, as in the three bodies below. */
export class DisablePlaybookBody {
  @Text(200, { example: author }) readonly disabled_by!: string;
  @Text(2_000, { example: 'Made the outage of 12 March worse' }) readonly disabled_reason!: string;
}

export class EnablePlaybookBody {
  @Text(200, { example: author }) readonly enabled_by!: string;
  @OptionalText(2_000, { nullable: true, example: 'Its cause was the network' })
  readonly enabled_reason?: string;
}

export class DeprecatePlaybookBody {
  @Text(200, { example: author }) readonly deprecated_by!: string;
  @Text(2_000, { example: 'Use cluster-dns-cache instead', description: 'Advice for its users' })
  readonly deprecation_notice!: string;
}

export class ArchivePlaybookBody {
  @Text(200, { example: author }) readonly archived_by!: string;
  @Text(2_000, { example: 'The cluster that it was for is gone' }) readonly archived_reason!: string;
}

export class RecordOutcomeBody {
  @Flag({ example: true, description: 'Whether it remedied the incident' }) readonly success!: boolean;
  @OptionalText(256, {
    nullable: true,
    example: 'remediation-7f3a',
    description: 'An id of your choice, with which a repeated report does not count again',
  })
  readonly execution_id?: string;
}
