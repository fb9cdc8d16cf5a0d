import {
  Texts,
  Example,
  Cursor,
  Limit,
  Moment,
  NullableText,
  ObjectList,
  OptionalMoment,
  OptionalText,
  PageOf,
} from '../../rest/dto.js';
import type { JsonDifference } from '../../../base/common/json-differences.js';
import { ApiProperty } from '@nestjs/swagger';

const exampleTarget = 'custom-tools/word_count';
export const maxReasonLength = 500;
export const maxTargetLength = 512;
/** The reason of an act, if its route takes one. */
export const Reason = (): PropertyDecorator =>
  OptionalText(maxReasonLength, {
    example: 'The incident takes longer',
    description: 'Why; it stands in the audit',
  });

export class ReasonQuery {
  @Reason() readonly reason?: string;
}

/** The members of an answer to an act that some replicas have not confirmed. */
export class UnconfirmedView {
  @ApiProperty({ type: Boolean, enum: [false], example: false }) readonly confirmed!: false;
  @Texts(['gateway-3:3000'], 'Replicas that have not confirmed the change: host and port')
  readonly missing!: string[];
}

export class AuditQuery {
  @OptionalText(maxTargetLength, {
    example: exampleTarget,
    description:
      "A target and the targets below it, or a name: 'disk_usage' finds 'tool-health/disk_usage' too",
  })
  readonly target?: string;
  @OptionalText(128, { example: 'updateCustomTool', description: 'An operation of this document, by its id' })
  readonly action?: string;
  @OptionalText(256, { example: 'alice' }) readonly userId?: string;
  @OptionalText(1_024, { example: '019a9e0c5d0e7cc1a3f2' }) readonly keyId?: string;
  @OptionalMoment({ example: '2026-01-22T10:30:00Z', description: 'Included' }) readonly since?: Date;
  @OptionalMoment({ example: '2026-01-23T10:30:00Z', description: 'Included' }) readonly until?: Date;
  @Limit(100) readonly limit!: number;
  @Cursor() readonly cursor?: string;
}

/** One act with the rights of an administrator. */
export class AuditEntryView {
  @Example('019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f') readonly id!: string;
  @Moment() readonly at!: Date;
  @NullableText(
    'admin',
    "The key's id; `admin`: the operator's; issuer and subject of an access token; null: neither was shown",
  )
  readonly keyId!: string | null;
  @Example('alice') readonly userId!: string;
  @NullableText('10.0.0.7') readonly address!: string | null;
  @Example('019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f') readonly requestId!: string;
  @Example('updateCustomTool', 'The operation, by its id in this document') readonly action!: string;
  @Example(exampleTarget, 'The path of what it was done to, below /api/v1/') readonly target!: string;
  @NullableText('support', 'Of the target; null: of none') readonly project!: string | null;
  @Example(200, 'HTTP status of the answer') readonly status!: number;
  @NullableText('claude-code', 'The agent (OAuth client) that showed the access token')
  readonly clientId?: string | null;
  @NullableText('The incident takes longer', 'As the request gave it; null: it gave none')
  readonly reason!: string | null;
  @NullableText('deployer', "The name of the caller's key, or of the person") readonly keyName?:
    string | null;
  @NullableText('on-call agent', 'Of the key that it was done to') readonly targetName?: string | null;
  @NullableText('There is no tool word_count', 'Why it was refused') readonly error?: string | null;
  @ObjectList({
    example: [{ path: '/timeoutMs', before: 30_000, after: 5_000 }],
    description: 'Of a tool or a key',
  })
  readonly changes?: readonly JsonDifference[];
}

export class AuditPageView extends PageOf(AuditEntryView, { description: 'Newest first' }) {}
