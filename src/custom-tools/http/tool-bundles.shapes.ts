import { ApiProperty } from '@nestjs/swagger';
import { OptionalInt } from '../../common/shapes.js';
import type { BundleFile, BundleFiles } from '../bundles/bundle-files.js';
import type { StoredBundle } from '../bundles/bundles.repository.js';
import { largestRevision } from './tool-revisions.shapes.js';

/** The files that a tool brought along. */
export class BundleView implements StoredBundle {
  @ApiProperty({
    example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    description: 'SHA-256 over paths, contents and executable bits of its files',
  })
  readonly hash!: string;
  @ApiProperty({ example: 4, description: 'As uploaded: without packages that were installed' })
  readonly files!: number;
  @ApiProperty({ example: 8192, description: 'Of these files' }) readonly bytes!: number;
  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'What npm and pip said when they installed its packages; null: they installed none',
  })
  readonly installLog!: string | null;
  @ApiProperty({ type: String, format: 'date-time', example: '2026-01-23T10:30:00.000Z' })
  readonly uploadedAt!: Date;
}

export class BundleFilesQuery {
  @OptionalInt(1, largestRevision, { example: 1, description: 'Absent: those that it runs now' })
  readonly revision?: number;
}

class BundleFileView implements BundleFile {
  @ApiProperty({ example: 'tool.py' }) readonly path!: string;
  @ApiProperty({
    type: String,
    nullable: true,
    example: '#!/usr/bin/env python3\n…',
    description: 'Null: it is no text, or there is too much of it',
  })
  readonly content!: string | null;
  @ApiProperty({ example: false }) readonly executable!: boolean;
}

export class BundleFilesView implements BundleFiles {
  @ApiProperty({ type: [BundleFileView], description: 'By path' }) readonly data!: readonly BundleFileView[];
  @ApiProperty({ example: true, description: 'All files are there with their contents' })
  readonly complete!: boolean;
}
