import { Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import type { SemanticErrors, ToolAnnotations, ToolThresholds } from '../../../web/contract/tool.js';
import type { JsonSchema } from '../../../base/schemas/json-schema.js';
import type { McpDefinition } from '../../mcp-client/mcp-review.js';
import type { SandboxSettings, ToolPermissions } from './tool-settings.js';
import type { StoredEnv } from '../../secrets/env-cipher.js';

export const toolStatuses = ['active', 'inactive', 'error'] as const;
export type ToolStatus = (typeof toolStatuses)[number];
export const toolProtocols = ['jsonrpc', 'mcp'] as const;
/** The protocol of the processes: docs/tools/protocol.md for a single tool, or MCP for a server with several tools. */
export type ToolProtocol = (typeof toolProtocols)[number];
export const healthStatuses = ['healthy', 'degraded', 'unhealthy', 'unknown'] as const;
export type HealthStatus = (typeof healthStatuses)[number];

export const captureSettings = ['none', 'failures', 'all'] as const;
export type CaptureSetting = (typeof captureSettings)[number];

export const isolations = ['project', 'shared'] as const;
/** Whether processes are shared by all callers or only within a project. */
export type Isolation = (typeof isolations)[number];

/** A registered executable; durations in milliseconds. */
@Entity('custom_tools')
export class CustomTool {
  @PrimaryColumn('uuid') id!: string;
  /** Tells its own user from those of other tools, where the gateway runs as root; never changes. */
  @Column('integer', { name: 'user_number', unique: true }) userNumber!: number;
  @Column('text', { unique: true }) name!: string;
  @Column('text') description!: string;
  @Column('text') version!: string;
  @Column('text') protocol!: ToolProtocol;
  /** Empty if there is a URL. */
  @Column('text') command!: string;
  /** Address of an MCP server that runs elsewhere. */
  @Column('text', { nullable: true }) url!: string | null;
  /** Headers of each request; `${NAME}` is replaced by a variable of `env`. */
  @Column('jsonb', { nullable: true }) headers!: Record<string, string> | null;
  /** The real path of `command` at the registration; null: registered before it was kept. */
  @Column('text', { name: 'pinned_command', nullable: true }) pinnedCommand!: string | null;
  @Column('jsonb') args!: string[];
  @Column('text', { name: 'working_dir', nullable: true }) workingDir!: string | null;
  /** Hash of the uploaded bundle in whose folder it runs; null: its files are stored elsewhere. */
  @Column('text', { nullable: true }) bundle!: string | null;
  /** Sealed: opened only where a process is started. */
  @Column('jsonb') env!: StoredEnv;
  /** Stored as `json`, like the definitions: in the order of its author. */
  @Column('json', { name: 'input_schema' }) inputSchema!: JsonSchema;
  /** Tools of an MCP server that were approved, as they were listed then. */
  @Column('json', { nullable: true }) definitions!: McpDefinition[] | null;
  @Column('integer', { name: 'timeout_ms' }) timeoutMs!: number;
  @Column('integer', { name: 'max_retries' }) maxRetries!: number;
  @Column('integer', { name: 'retry_delay_ms' }) retryDelayMs!: number;
  @Column('integer', { name: 'pool_size' }) poolSize!: number;
  @Column('integer', { name: 'min_processes' }) minProcesses!: number;
  @Column('integer', { name: 'max_concurrency' }) maxConcurrency!: number;
  @Column('boolean', { name: 'keep_alive' }) keepAlive!: boolean;
  @Column('text') isolation!: Isolation;
  @Column('jsonb') annotations!: ToolAnnotations;
  /** Limits for its grade that differ from the defaults; null: none. */
  @Column('jsonb', { nullable: true }) thresholds!: Partial<ToolThresholds> | null;
  @Column('text', { name: 'semantic_errors' }) semanticErrors!: SemanticErrors;
  @Column('jsonb', { nullable: true }) sandbox!: SandboxSettings | null;
  @Column('jsonb', { nullable: true }) permissions!: ToolPermissions | null;
  @Column('jsonb', { nullable: true }) fallback!: unknown;
  @Column('integer', { name: 'calls_per_investigation', nullable: true }) callsPerInvestigation!:
    number | null;
  /** How long a result answers equal calls; null: never. */
  @Column('integer', { name: 'cache_ttl_ms', nullable: true }) cacheTtlMs!: number | null;
  /** Executions whose input and answer are kept. */
  @Column('text') capture!: CaptureSetting;
  /** The current one's number; 0 until its first is made. */
  @Column('integer') revision!: number;
  @Column('text') status!: ToolStatus;
  @Column('timestamptz', { name: 'last_health_check', nullable: true }) lastHealthCheck!: Date | null;
  @Column('text', { name: 'health_status' }) healthStatus!: HealthStatus;
  @Column('text', { name: 'error_message', nullable: true }) errorMessage!: string | null;
  @Column('jsonb') tags!: string[];
  @Column('jsonb') metadata!: Record<string, unknown>;
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
