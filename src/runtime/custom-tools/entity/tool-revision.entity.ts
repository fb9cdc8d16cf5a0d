import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import type { StoredEnv } from '../../secrets/env-cipher.js';
import type { ToolSettings } from './tool-settings.js';

export const revisionSources = [
  'register',
  'patch',
  'import',
  'reload',
  'rollback',
  'approve',
  'bundle',
] as const;
export type RevisionSource = (typeof revisionSources)[number];

/** A file that a tool's process runs. */
export interface ProgramFile {
  /** Relative to the root of the server's files if it is inside, so that the same program has the same path everywhere. */
  readonly path: string;
  readonly size: number;
  /** ISO 8601. */
  readonly modifiedAt: string;
  /** SHA-256; null for a file over 16 MiB, which is compared by size and time. */
  readonly hash: string | null;
}

/** The settings that make a revision, without its environment. */
export type ToolConfiguration = Partial<Omit<ToolSettings, 'env'>>;

/** A tool's configuration at one time; the row never changes. */
@Entity('custom_tool_revisions')
export class CustomToolRevision {
  @PrimaryColumn('uuid', { name: 'tool_id' }) toolId!: string;
  @PrimaryColumn('integer') revision!: number;
  @Column('text', { name: 'content_hash' }) contentHash!: string;
  /** `json` keeps the order of keys, which jsonb does not: schemas are shown as their authors wrote them. */
  @Column('json') configuration!: ToolConfiguration;
  @Column('jsonb') env!: StoredEnv;
  @Column('jsonb') files!: ProgramFile[];
  @Column('text') source!: RevisionSource;
  /** The revision that a rollback restored. */
  @Column('integer', { nullable: true }) restores!: number | null;
  @Column('text', { nullable: true }) reason!: string | null;
  @Column('text', { name: 'created_by' }) createdBy!: string;
  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' }) createdAt!: Date;
}
