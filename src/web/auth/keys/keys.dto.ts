import {
  Example,
  OneOfThese,
  AnyText,
  Int,
  Moment,
  NullableMoment,
  NullableText,
  NullableTexts,
  OneOf,
  OptionalMomentText,
  OptionalNested,
  OptionalText,
  OptionalTextList,
  PageOf,
  Rule,
  SentBackBy,
  SomeOf,
  Text,
} from '../../rest/dto.js';
import { ApiProperty, PartialType } from '@nestjs/swagger';
import { type CallRate, ratePeriods, type Scope, scopes } from '../../contract/principal.js';

const exampleId = '019a9e0c5d0e7cc1a3f2';
const exampleKey = `tk_${exampleId}_3q2-7wUyB0XnP1Zk8sVd4eRtG6hJ9mLcQaWfYxKoIuE`;

export class KeyParams {
  @AnyText({ pattern: '^[0-9a-f]{20}$', example: exampleId }) readonly id!: string;
}

export class CallRateBody implements CallRate {
  @Int(1, 1_000_000, { example: 100 }) readonly calls!: number;
  @OneOf(ratePeriods, { example: 'minute' }) readonly per!: CallRate['per'];
}

/** The members of a key that may be changed. */
export class KeyLimits {
  @Text(128, { example: 'on-call agent', description: 'For people' }) readonly name!: string;
  @OptionalTextList({
    nullable: true,
    minItems: 1,
    maxItems: 100,
    minLength: 1,
    maxLength: 256,
    pattern: '^[^\\x00-\\x1f]*$',
    example: ['payments'],
    description:
      'Projects that its calls may name (`x-project-id`). The first is the default. Absent, null: all',
  })
  readonly projects?: string[] | null;
  @OptionalTextList({
    nullable: true,
    minItems: 1,
    maxItems: 1_000,
    minLength: 1,
    maxLength: 128,
    pattern: '^[^*]*\\*?$',
    example: ['get_playbooks', 'disk_*'],
    description: 'Tools that it may see and call: names, or prefixes of names with a `*`. Absent, null: all',
  })
  readonly tools?: string[] | null;
  @OptionalTextList({
    nullable: true,
    minItems: 1,
    maxItems: 100,
    maxLength: 64,
    example: ['support'],
    description:
      'Virtual MCP servers that it is bound to: it uses MCP at `/mcp/<name>` alone, and calls only their tools. Absent, null: none',
  })
  readonly mcpServers?: string[] | null;
  @OptionalNested(CallRateBody, {
    nullable: true,
    description: 'Max calls per server. Absent, null: any number',
  })
  readonly rate?: CallRate | null;
  @Rule('must lie in the future', (at) => Date.parse(at as string) > Date.now())
  @OptionalMomentText({
    nullable: true,
    example: '2099-01-01T00:00:00.000Z',
    description: 'The key is refused from then on. Absent, null: never',
  })
  readonly expiresAt?: string | null;
}

/** A new key: its limits, which can change later, with its scopes and owner, which cannot. */
export class CreateKeyBody extends KeyLimits {
  @SomeOf(scopes, {
    minItems: 1,
    uniqueItems: true,
    example: ['tools:call'],
    description: '`admin` includes all others, `tools:admin` includes `tools:call` and `metrics:read`',
  })
  readonly scopes!: Scope[];
  @OptionalText(128, {
    pattern: '^[^\\x00-\\x1f]*\\S[^\\x00-\\x1f]*$',
    example: 'sre-team',
    description: 'User recorded for calls that name none. Absent: its name',
  })
  readonly owner?: string;
}

/** Changes of a key. Absent members stay as they are; null removes a limit. */
export class UpdateKeyBody extends PartialType(KeyLimits, { skipNullProperties: false }) {}

const keyStatuses = ['active', 'expired', 'revoked'] as const;
/** A key without its secret, which is shown only at creation. */
@SentBackBy(UpdateKeyBody)
export class KeyView {
  @Example(exampleId) readonly id!: string;
  @Example('on-call agent') readonly name!: string;
  @Example('sre-team') readonly owner!: string;
  @ApiProperty({ enum: scopes, isArray: true, example: ['tools:call'] }) readonly scopes!: readonly Scope[];
  @NullableTexts(['payments']) readonly projects!: readonly string[] | null;
  @NullableTexts(['get_playbooks', 'disk_*']) readonly tools!: readonly string[] | null;
  @NullableTexts(['support']) readonly mcpServers!: readonly string[] | null;
  @ApiProperty({ type: CallRateBody, nullable: true }) readonly rate!: CallRate | null;
  @OneOfThese(keyStatuses, 'active') readonly status!: (typeof keyStatuses)[number];
  @Moment('2026-01-15T09:30:00.000Z') readonly createdAt!: Date;
  @Example('admin') readonly createdBy!: string;
  @NullableMoment(null) readonly expiresAt!: Date | null;
  @NullableMoment(null) readonly lastUsedAt!: Date | null;
  @NullableMoment(null) readonly revokedAt!: Date | null;
  @NullableText(null) readonly revokedBy!: string | null;
}

export class KeyPageView extends PageOf(KeyView, { description: 'Newest first' }) {}

/** A created key with its secret. */
export class NewKeyView extends KeyView {
  @Example(exampleKey, 'The key itself: shown this once, and not stored') readonly key!: string;
}

/** A row of `api_keys`. */
export type StoredKey = Omit<KeyView, 'status'> & { readonly hash: Buffer };
