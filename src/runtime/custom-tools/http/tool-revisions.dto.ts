import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ReasonQuery } from '../../../web/auth/audit/audit.dto.js';
import { shownEnv } from '../../secrets/env-cipher.js';
import { type CustomToolRevision, revisionSources } from '../entity/tool-revision.entity.js';
import {
  AnyText,
  Int,
  Moment,
  NullableNumber,
  NullableText,
  OptionalInt,
  PageOf,
} from '../../../web/rest/dto.js';

/** Max revision number: that of a PostgreSQL `integer`. */
const maxRevision = 2_147_483_647;

export class RevisionFileView {
  @ApiProperty({ example: 'tools/installed/log_summary/tool.py' }) readonly path!: string;
  @ApiProperty({ example: 4096, description: 'Bytes' }) readonly size!: number;
  @Moment() readonly modifiedAt!: string;
  @NullableText(
    '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    'SHA-256; null if over 16 MiB, so that size and time are compared',
  )
  readonly hash!: string | null;
}

/** The uploaded files of a tool: a row of `tool_bundles` without the archive. */
export class BundleView {
  @ApiProperty({
    example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    description: 'SHA-256 over paths, contents and executable bits of its files',
  })
  readonly hash!: string;
  @ApiProperty({ example: 4 }) readonly files!: number;
  @ApiProperty({ example: 8192, description: 'Of these files' }) readonly bytes!: number;
  @Moment() readonly uploadedAt!: Date;
}

class BundleFileView {
  @ApiProperty({ example: 'tool.py' }) readonly path!: string;
  @NullableText('#!/usr/bin/env python3\n…', 'Null if it is not text, or is too large')
  readonly content!: string | null;
  @ApiProperty({ example: false }) readonly executable!: boolean;
}

export class BundleFilesView {
  @ApiProperty({ type: [BundleFileView], description: 'By path' }) readonly data!: readonly BundleFileView[];
  @ApiProperty({ example: true, description: 'Whether all files and contents are included' })
  readonly complete!: boolean;
}

export class RevisionSummaryView {
  @ApiProperty({ example: 1 }) readonly revision!: number;
  @ApiProperty({
    example: '60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752',
    description: "SHA-256 of configuration, environment and the files' content",
  })
  readonly contentHash!: string;
  @ApiProperty({ enum: revisionSources, example: 'register' }) readonly source!: string;
  @NullableNumber(null, 'The revision that a rollback restored') readonly restores!: number | null;
  @NullableText('It fails since revision 3', 'Why, if its author gave a reason') readonly reason!:
    string | null;
  @ApiProperty({ example: 'alice', description: 'User id of the caller; `toolkeeper`: the server itself' })
  readonly createdBy!: string;
  @Moment() readonly createdAt!: Date;
}

export class RevisionView extends RevisionSummaryView {
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { name: 'log_summary', command: 'python3', args: ['tool.py'], env: { API_KEY: '***' } },
    description: 'As registered, with the names of environment variables only',
  })
  readonly configuration!: object;
  @ApiProperty({ type: [RevisionFileView], description: 'Known files of its program' })
  readonly files!: RevisionFileView[];
}

export class RevisionPageView extends PageOf(RevisionSummaryView) {}

/** The schema of any JSON value, null included. */
const anyJson = ['string', 'number', 'boolean', 'object', 'array'].map((type) => ({
  type,
  // `oneOf` requires exactly one match, so exactly one member allows null.
  ...(type === 'string' && { nullable: true }),
  ...(type === 'array' && { items: {} }),
}));

export class RevisionChangeView {
  @ApiProperty({ example: '/configuration/timeoutMs', description: 'JSON pointer into the revision' })
  readonly path!: string;
  @ApiPropertyOptional({ oneOf: anyJson, example: 10000, description: 'Absent if it was added' })
  readonly before?: unknown;
  @ApiPropertyOptional({ oneOf: anyJson, example: 20000, description: 'Absent if it was removed' })
  readonly after?: unknown;
}

export class RevisionDiffView {
  @ApiProperty({ example: 2 }) readonly revision!: number;
  @NullableNumber(1) readonly against!: number | null;
  @ApiProperty({ type: [RevisionChangeView] }) readonly changes!: RevisionChangeView[];
}

export class RevisionParams {
  @AnyText({ example: 'log_summary' }) readonly name!: string;
  @Int(1, maxRevision, { example: 1 })
  readonly revision!: number;
}

export class RevisionDiffQuery {
  @OptionalInt(1, maxRevision, { example: 1, description: 'Absent: the one before' })
  readonly against?: number;
}

export class RollbackBody extends ReasonQuery {
  @Int(1, maxRevision, {
    example: 1,
    description: 'The revision to restore',
  })
  readonly revision!: number;
}

export class BundleFilesQuery {
  @OptionalInt(1, maxRevision, { example: 1, description: 'Absent: the current one' })
  readonly revision?: number;
}

export function revisionSummary(row: CustomToolRevision): RevisionSummaryView {
  const { revision, contentHash, source, restores, reason, createdBy, createdAt } = row;
  return { revision, contentHash, source, restores, reason, createdBy, createdAt };
}

/** A revision with its configuration, without secrets. */
export function revisionView(row: CustomToolRevision): RevisionView {
  const configuration = { ...row.configuration, env: shownEnv(row.env) };
  return { ...revisionSummary(row), configuration, files: row.files };
}
