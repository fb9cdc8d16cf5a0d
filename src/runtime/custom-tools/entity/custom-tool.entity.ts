import { Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import type { ToolAnnotations } from '../../../web/contract/tool.js';
import type { StoredEnv } from '../../secrets/env-cipher.js';
import { ToolSettings } from './tool-settings.js';

/** `inactive`: an operator disabled it; `error`: its program cannot be started. */
export const toolStatuses = ['active', 'inactive', 'error'] as const;
export type ToolStatus = (typeof toolStatuses)[number];
/** Result of the last health check; `unknown` before the first one. */
export const healthStatuses = ['healthy', 'degraded', 'unhealthy', 'unknown'] as const;
export type HealthStatus = (typeof healthStatuses)[number];

/** A registered executable or MCP server: its settings and its state. */
@Entity('custom_tools')
export class CustomTool extends ToolSettings {
  @PrimaryColumn('uuid') id!: string;
  /** Determines the Unix user of its processes if the gateway runs as root. Never changes. */
  @Column('integer', { name: 'user_number', unique: true }) userNumber!: number;
  declare env: StoredEnv;
  declare annotations: ToolAnnotations;
  /** The real path of `command` at the registration; null: not determined yet. */
  @Column('text', { name: 'pinned_command', nullable: true }) pinnedCommand!: string | null;
  /** Number of the current revision; 0 before the first one is stored. */
  @Column('integer') revision!: number;
  @Column('text') status!: ToolStatus;
  @Column('timestamptz', { name: 'last_health_check', nullable: true }) lastHealthCheck!: Date | null;
  @Column('text', { name: 'health_status' }) healthStatus!: HealthStatus;
  @Column('text', { name: 'error_message', nullable: true }) errorMessage!: string | null;
  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' }) createdAt!: Date;
  @UpdateDateColumn({ type: 'timestamptz', name: 'updated_at' }) updatedAt!: Date;
}

/** A tool.json that was imported, by its path and the hash of its content. */
@Entity('custom_tool_imports')
export class CustomToolImport {
  @PrimaryColumn('text') path!: string;
  @Column('text', { name: 'content_hash' }) contentHash!: string;
  @CreateDateColumn({ type: 'timestamptz', name: 'imported_at' }) importedAt!: Date;
}
