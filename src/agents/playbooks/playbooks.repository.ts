import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { newId } from '../../base/common/ids.js';
import type { HiddenPlaybook, PlaybookStatus, SearchablePlaybook } from './playbook.types.js';
import type {
  ListedPlaybookView,
  PlaybookCreatedView,
  PlaybookOutcomeView,
  PlaybookRow,
  PlaybookVersionSummaryView,
  StatusChangeView,
} from './playbook-views.dto.js';
import {
  type PlannedVersion,
  type StatusChange,
  type StoredVersion,
  transitions,
} from './playbook-versions.js';

export interface VersionKey {
  readonly id: string;
  readonly version: string;
}

export interface Outcome {
  readonly success: boolean;
  /** An id of the caller's choice, so that an execution counts once even if it is reported again. */
  readonly executionId: string | undefined;
}

/** Columns of a new version, with their types. */
const newColumns = `playbook_id text, version text, name text, description text, owner text, maintainer text, content json,
  content_hash text, labels jsonb, signals text[], aliases text[], when_to_use text, when_not_to_use text,
  version_notes text, change_summary text, expected_success_rate numeric, expected_duration_seconds integer,
  is_latest_version boolean, previous_version text, created_by text, updated_by text`;
/** The same columns without their types. */
const newColumnNames = newColumns.replaceAll(/ (text\[\]|[a-z]+)(,|$)/g, '$2');

/** The searchable playbooks at one revision of the catalogue. */
interface SearchableCatalogue {
  /** Changes with each change of the catalogue by any replica. */
  readonly revision: string;
  /** Sorted by id. */
  readonly playbooks: readonly SearchablePlaybook[];
}

/** A version in the list of a playbook's versions. */
type VersionRow = Omit<PlaybookVersionSummaryView, 'deprecation_notice'> &
  Pick<PlaybookRow, 'deprecation_notice'>;

/** The fields of a version in the answer to a change of its status. */
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

/** A version with the figures of its outcomes. */
type StatisticsRow = Omit<PlaybookOutcomeView, 'counted'>;

const statusFields =
  'playbook_id, version, status, disabled_at, disabled_by, disabled_reason, deprecation_notice, updated_at';
const statisticsFields =
  'playbook_id, version, total_executions, successful_executions, actual_success_rate::float8';
const allFields = `
  playbook_id, version, name, description, owner, maintainer, labels, status, content, content_hash, signals, aliases,
  when_to_use, when_not_to_use, version_notes, change_summary, disabled_at, disabled_by, disabled_reason,
  is_latest_version, previous_version, deprecation_notice, expected_success_rate::float8, expected_duration_seconds,
  actual_success_rate::float8, total_executions, successful_executions, created_at, created_by, updated_at, updated_by`;

/** Data access for the table `playbook_catalog`. Versions are never changed or deleted, only their status. */
@Injectable()
export class PlaybooksRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** The present revision of the catalogue. */
  async revision(): Promise<string> {
    const rows: { revision: string }[] = await this.dataSource.query(
      'SELECT revision FROM playbook_catalog_state',
    );
    return rows[0]?.revision ?? '';
  }

  /** Active latest versions, for search. One statement, so that rows and revision belong together. */
  async searchable(): Promise<SearchableCatalogue> {
    const rows: ({ revision: string } & (SearchablePlaybook | { playbook_id: null }))[] =
      await this.dataSource.query(
        `SELECT s.revision, p.playbook_id, p.version, p.name, p.description, p.labels, p.signals, p.aliases, p.when_to_use
         FROM playbook_catalog_state s
         LEFT JOIN playbook_catalog p ON p.is_latest_version AND p.status = 'active'
         ORDER BY p.playbook_id COLLATE "C"`,
      );
    const playbooks = rows.flatMap(({ revision: _, ...row }) => (row.playbook_id === null ? [] : [row]));
    return { revision: rows[0]?.revision ?? '', playbooks };
  }

  /** Active latest versions in full, for skills. Those whose id is a valid skill name come first. */
  active(): Promise<PlaybookRow[]> {
    return this.dataSource.query(
      `SELECT ${allFields} FROM playbook_catalog WHERE is_latest_version AND status = 'active'
       ORDER BY playbook_id ~ '[^a-z0-9-]', playbook_id COLLATE "C"`,
    );
  }

  /** Latest versions that are not active, which search does not show. */
  hidden(): Promise<HiddenPlaybook[]> {
    return this.dataSource.query(
      `SELECT playbook_id, version, status FROM playbook_catalog WHERE is_latest_version AND status <> 'active'`,
    );
  }

  /** Latest versions of any status, sorted by id. @param after the last id of the page before */
  listLatest(after: string | undefined, limit: number): Promise<ListedPlaybookView[]> {
    return this.dataSource.query(
      `SELECT playbook_id, version, name, description, owner, labels, status, actual_success_rate::float8,
         total_executions, created_at, updated_at,
         (SELECT count(*)::int FROM playbook_catalog any_version WHERE any_version.playbook_id = latest.playbook_id) AS total_versions
       FROM playbook_catalog latest WHERE is_latest_version AND playbook_id COLLATE "C" > $1
       ORDER BY playbook_id COLLATE "C" LIMIT $2`,
      [after ?? '', limit],
    );
  }

  /** All versions of a playbook, unsorted. */
  versions(id: string): Promise<VersionRow[]> {
    return this.dataSource.query(
      `SELECT version, status, is_latest_version, actual_success_rate::float8, total_executions, created_at,
         deprecation_notice
       FROM playbook_catalog WHERE playbook_id = $1`,
      [id],
    );
  }

  async find(id: string, version: string): Promise<PlaybookRow | undefined> {
    const rows: PlaybookRow[] = await this.dataSource.query(
      `SELECT ${allFields} FROM playbook_catalog WHERE playbook_id = $1 AND version = $2`,
      [id, version],
    );
    return rows[0];
  }

  /** Status changes of a version, oldest first. */
  statusHistory(id: string, version: string): Promise<StatusChangeView[]> {
    return this.dataSource.query(
      `SELECT from_status, to_status, changed_at, changed_by, reason FROM playbook_status_changes
       WHERE playbook_id = $1 AND version = $2 ORDER BY changed_at, id`,
      [id, version],
    );
  }

  /**
   * Stores all versions or none, while the catalogue is locked.
   * @param plan gets the stored versions of these ids and returns what to store, or throws
   * @returns what was stored, in the order of the plan
   */
  store<Plan extends { readonly versions: readonly PlannedVersion[] }>(
    ids: readonly string[],
    createdBy: string | null,
    plan: (stored: readonly StoredVersion[]) => Plan,
  ): Promise<{ readonly plan: Plan; readonly created: PlaybookCreatedView[] }> {
    return this.withLock(async (manager) => {
      const stored: StoredVersion[] = await manager.query(
        `SELECT playbook_id, version, is_latest_version, content_hash FROM playbook_catalog
         WHERE playbook_id = ANY ($1)`,
        [[...new Set(ids)]],
      );
      const planned = plan(stored);
      return { plan: planned, created: await insert(manager, planned.versions, createdBy) };
    });
  }

  /**
   * Changes a version's status and records who did it, when and why.
   * @param admit gets the present status, undefined if there is no such version, and throws if it may not change
   */
  setStatus(
    { id, version }: VersionKey,
    { transition, by, reason }: StatusChange,
    admit: (status: PlaybookStatus | undefined) => void,
  ): Promise<StatusRow> {
    return this.withLock(async (manager) => {
      const found: { status: PlaybookStatus }[] = await manager.query(
        'SELECT status FROM playbook_catalog WHERE playbook_id = $1 AND version = $2 FOR UPDATE',
        [id, version],
      );
      const from = found[0]?.status;
      admit(from);
      const { to } = transitions[transition];
      const [[row]]: [StatusRow[], number] = await manager.query(
        `UPDATE playbook_catalog SET status = $3, updated_at = now(), updated_by = $4,
           disabled_at = CASE $3 WHEN 'disabled' THEN now() END,
           disabled_by = CASE $3 WHEN 'disabled' THEN $4 END,
           disabled_reason = CASE $3 WHEN 'disabled' THEN $5 END,
           deprecation_notice = CASE $3 WHEN 'deprecated' THEN $5 ELSE deprecation_notice END
         WHERE playbook_id = $1 AND version = $2 RETURNING ${statusFields}`,
        [id, version, to, by, reason ?? null],
      );
      await manager.query(
        `INSERT INTO playbook_status_changes (id, playbook_id, version, from_status, to_status, changed_by, reason)
         VALUES ($1, $2, $3, $4, $5, $6, $7)`,
        [newId(), id, version, from, to, by, reason ?? null],
      );
      if (!row) throw new Error('UPDATE returned no row');
      return row;
    });
  }

  /**
   * Counts an outcome in the version's own row, so that concurrent writers lose none.
   * @returns the new statistics; undefined if the execution was counted before or there is no such version
   */
  async addOutcome(
    { id, version }: VersionKey,
    { success, executionId }: Outcome,
  ): Promise<StatisticsRow | undefined> {
    const [rows]: [StatisticsRow[], number] = await this.dataSource.query(
      `WITH new AS (
         INSERT INTO playbook_outcomes (playbook_id, version, execution_id, success)
         SELECT playbook_id, version, $4, $3::boolean FROM playbook_catalog
         WHERE playbook_id = $1 AND version = $2 AND $4::text IS NOT NULL
         ON CONFLICT DO NOTHING RETURNING 1
       )
       UPDATE playbook_catalog SET
         total_executions = total_executions + 1,
         successful_executions = successful_executions + $3::boolean::integer,
         actual_success_rate =
           round((successful_executions + $3::boolean::integer)::numeric / (total_executions + 1), 3)
       WHERE playbook_id = $1 AND version = $2 AND ($4::text IS NULL OR EXISTS (SELECT FROM new))
       RETURNING ${statisticsFields}`,
      [id, version, success, executionId ?? null],
    );
    return rows[0];
  }

  /** The outcome of an execution; undefined if it was never reported. */
  async findOutcome(
    { id, version }: VersionKey,
    executionId: string,
  ): Promise<{ success: boolean } | undefined> {
    const rows: { success: boolean }[] = await this.dataSource.query(
      `SELECT success FROM playbook_outcomes WHERE playbook_id = $1 AND version = $2 AND execution_id = $3`,
      [id, version, executionId],
    );
    return rows[0];
  }

  /**
   * Runs a change in a transaction that locks the catalogue's state row first. A trigger takes that lock anyway; taken
   * first, it serialises all changes and avoids deadlocks.
   */
  private withLock<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.dataSource.transaction(async (manager) => {
      await manager.query('SELECT FROM playbook_catalog_state FOR UPDATE');
      return work(manager);
    });
  }
}

/** Inserts versions, which replace the latest ones of their playbooks. */
async function insert(
  manager: EntityManager,
  versions: readonly PlannedVersion[],
  createdBy: string | null,
): Promise<PlaybookCreatedView[]> {
  if (versions.length === 0) return [];
  await manager.query(
    `UPDATE playbook_catalog SET is_latest_version = false, updated_at = now()
     WHERE playbook_id = ANY ($1) AND is_latest_version`,
    [versions.map(({ playbook }) => playbook.playbook_id)],
  );
  return manager.query(
    `INSERT INTO playbook_catalog (${newColumnNames})
     SELECT ${newColumnNames} FROM json_to_recordset($1) AS new (${newColumns})
     RETURNING playbook_id, version, status, is_latest_version, created_at`,
    [JSON.stringify(versions.map((version) => rowOf(version, createdBy)))],
  );
}

/** The row of a new version. Omitted fields become empty. */
function rowOf(
  { playbook, contentHash, isLatest, previous }: PlannedVersion,
  createdBy: string | null,
): Record<string, unknown> {
  return {
    ...playbook,
    labels: playbook.labels ?? {},
    signals: playbook.signals ?? [],
    aliases: playbook.aliases ?? [],
    content_hash: contentHash,
    is_latest_version: isLatest,
    previous_version: previous,
    created_by: createdBy,
    updated_by: createdBy,
  };
}
