import { ApiProperty } from '@nestjs/swagger';
import type { StoredBundle } from '../bundles/bundles.repository.js';

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
