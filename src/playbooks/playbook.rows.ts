import type { PlaybookStatus, SearchablePlaybook } from './playbook.types.js';

/** A stored version, in the names of the table and of the wire. */
export interface PlaybookRow extends SearchablePlaybook {
  readonly owner: string | null;
  readonly maintainer: string | null;
  readonly content: unknown;
  readonly content_hash: string;
  readonly when_not_to_use: string | null;
  readonly version_notes: string | null;
  readonly change_summary: string | null;
  readonly status: PlaybookStatus;
  readonly disabled_at: Date | null;
  readonly disabled_by: string | null;
  readonly disabled_reason: string | null;
  readonly is_latest_version: boolean;
  readonly previous_version: string | null;
  readonly deprecation_notice: string | null;
  readonly expected_success_rate: number | null;
  readonly expected_duration_seconds: number | null;
  readonly actual_success_rate: number | null;
  readonly total_executions: number;
  readonly successful_executions: number;
  readonly created_at: Date;
  readonly created_by: string | null;
  readonly updated_at: Date;
  readonly updated_by: string | null;
}

export interface PlaybookSummary extends Pick<
  PlaybookRow,
  | 'playbook_id'
  | 'version'
  | 'name'
  | 'description'
  | 'owner'
  | 'labels'
  | 'status'
  | 'actual_success_rate'
  | 'total_executions'
  | 'created_at'
  | 'updated_at'
> {
  readonly total_versions: number;
}

export type VersionRow = Pick<
  PlaybookRow,
  | 'version'
  | 'status'
  | 'is_latest_version'
  | 'actual_success_rate'
  | 'total_executions'
  | 'created_at'
  | 'deprecation_notice'
>;
export type CreatedRow = Pick<
  PlaybookRow,
  'playbook_id' | 'version' | 'status' | 'is_latest_version' | 'created_at'
>;
export type StatusRow = Pick<
  PlaybookRow,
  | 'playbook_id'
  | 'version'
  | 'status'
  | 'disabled_at'
  | 'disabled_by'
  | 'disabled_reason'
  | 'deprecation_notice'
  | 'updated_at'
>;

/** One change of a version's status. */
export interface StatusChangeRow {
  readonly from_status: PlaybookStatus;
  readonly to_status: PlaybookStatus;
  readonly changed_at: Date;
  readonly changed_by: string;
  readonly reason: string | null;
}

/** What is known of a version's success. */
export type StatisticsRow = Pick<
  PlaybookRow,
  'playbook_id' | 'version' | 'total_executions' | 'successful_executions' | 'actual_success_rate'
>;

export const statusFields =
  'playbook_id, version, status, disabled_at, disabled_by, disabled_reason, deprecation_notice, updated_at';
export const statisticsFields =
  'playbook_id, version, total_executions, successful_executions, actual_success_rate::float8';
export const allFields = `
  playbook_id, version, name, description, owner, maintainer, labels, status, content, content_hash, signals, aliases,
  when_to_use, when_not_to_use, version_notes, change_summary, disabled_at, disabled_by, disabled_reason,
  is_latest_version, previous_version, deprecation_notice, expected_success_rate::float8, expected_duration_seconds,
  actual_success_rate::float8, total_executions, successful_executions, created_at, created_by, updated_at, updated_by`;
