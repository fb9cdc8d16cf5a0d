import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { HiddenPlaybook } from './search-explanation.js';
import type { NewPlaybook, PlaybookLabels, PlaybookStatus, SearchablePlaybook } from '../playbook.types.js';

/** A stored version, in the names of the table and of the wire. */
export interface PlaybookRow extends SearchablePlaybook {
  readonly owner: string | null;
  readonly maintainer: string | null;
  readonly content: unknown;
  readonly content_hash: string;
  readonly when_not_to_use: string | null;
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
  readonly updated_at: Date;
}

export interface PlaybookSummary {
  readonly playbook_id: string;
  readonly version: string;
  readonly name: string;
  readonly description: string;
  readonly owner: string | null;
  readonly labels: PlaybookLabels;
  readonly status: PlaybookStatus;
  readonly created_at: Date;
  readonly updated_at: Date;
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
  'playbook_id' | 'version' | 'status' | 'disabled_at' | 'disabled_by' | 'disabled_reason'
>;

/** What is known of an id's versions when a new one is to be stored. */
export interface StoredVersion {
  readonly version: string;
  readonly is_latest_version: boolean;
  readonly content_hash: string;
}

const everything = `
  playbook_id, version, name, description, owner, maintainer, labels, status, content, content_hash, signals, aliases,
  when_to_use, when_not_to_use, disabled_at, disabled_by, disabled_reason, is_latest_version, previous_version,
  deprecation_notice, expected_success_rate::float8, expected_duration_seconds, actual_success_rate::float8,
  total_executions, successful_executions, created_at, updated_at`;
const statusFields = 'playbook_id, version, status, disabled_at, disabled_by, disabled_reason';

/** The table `playbook_catalog`. Versions are never changed or deleted, only their status. */
@Injectable()
export class PlaybooksRepository {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Stores a version while no other writer can store one of the same id.
   * @param admit looks at the stored versions and throws, or names the one that was the latest
   */
  create(
    playbook: NewPlaybook,
    origin: { readonly contentHash: string; readonly createdBy: string | null },
    admit: (stored: readonly StoredVersion[]) => string | null,
  ): Promise<CreatedRow> {
    return this.dataSource.transaction(async (manager) => {
      const { playbook_id: id } = playbook;
      await manager.query(`SELECT pg_advisory_xact_lock(hashtext('playbook_catalog'), hashtext($1))`, [id]);
      const stored: StoredVersion[] = await manager.query(
        'SELECT version, is_latest_version, content_hash FROM playbook_catalog WHERE playbook_id = $1',
        [id],
      );
      const previous = admit(stored);
      await manager.query(
        `UPDATE playbook_catalog SET is_latest_version = false, updated_at = now()
         WHERE playbook_id = $1 AND is_latest_version`,
        [id],
      );
      return insert(manager, playbook, { ...origin, previous });
    });
  }

  /** @returns hash by `id@version` of everything stored */
  async hashes(): Promise<Map<string, string>> {
    const rows: { key: string; content_hash: string }[] = await this.dataSource.query(
      `SELECT playbook_id || '@' || version AS key, content_hash FROM playbook_catalog`,
    );
    return new Map(rows.map(({ key, content_hash }) => [key, content_hash]));
  }

  /** What search may show: latest versions that are active. */
  searchable(): Promise<SearchablePlaybook[]> {
    return this.dataSource.query(
      `SELECT playbook_id, version, name, description, labels, signals, aliases, when_to_use FROM playbook_catalog
       WHERE is_latest_version AND status = 'active' ORDER BY playbook_id COLLATE "C"`,
    );
  }

  /** Latest versions that search may not show. */
  hidden(): Promise<HiddenPlaybook[]> {
    return this.dataSource.query(
      `SELECT playbook_id, version, status FROM playbook_catalog WHERE is_latest_version AND status <> 'active'`,
    );
  }

  /** Latest versions of any status, by id; `after` is the id at which the page before ended. */
  listLatest(after: string | undefined, limit: number): Promise<PlaybookSummary[]> {
    return this.dataSource.query(
      `SELECT playbook_id, version, name, description, owner, labels, status, created_at, updated_at
       FROM playbook_catalog WHERE is_latest_version AND playbook_id COLLATE "C" > $1
       ORDER BY playbook_id COLLATE "C" LIMIT $2`,
      [after ?? '', limit],
    );
  }

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
      `SELECT ${everything} FROM playbook_catalog WHERE playbook_id = $1 AND version = $2`,
      [id, version],
    );
    return rows[0];
  }

  /** @returns the disabled version; undefined when it was not active */
  async disable(id: string, version: string, by: string, reason: string): Promise<StatusRow | undefined> {
    const [rows]: [StatusRow[], number] = await this.dataSource.query(
      `UPDATE playbook_catalog SET status = 'disabled', disabled_at = now(), disabled_by = $3, disabled_reason = $4,
         updated_at = now(), updated_by = $3
       WHERE playbook_id = $1 AND version = $2 AND status = 'active' RETURNING ${statusFields}`,
      [id, version, by, reason],
    );
    return rows[0];
  }

  /** @returns the enabled version; undefined when it was not disabled */
  async enable(id: string, version: string, by: string): Promise<StatusRow | undefined> {
    const [rows]: [StatusRow[], number] = await this.dataSource.query(
      `UPDATE playbook_catalog SET status = 'active', disabled_at = NULL, disabled_by = NULL, disabled_reason = NULL,
         updated_at = now(), updated_by = $3
       WHERE playbook_id = $1 AND version = $2 AND status = 'disabled' RETURNING ${statusFields}`,
      [id, version, by],
    );
    return rows[0];
  }
}

async function insert(
  manager: EntityManager,
  playbook: NewPlaybook,
  origin: {
    readonly contentHash: string;
    readonly createdBy: string | null;
    readonly previous: string | null;
  },
): Promise<CreatedRow> {
  const values: Record<string, unknown> = {
    playbook_id: playbook.playbook_id,
    version: playbook.version,
    name: playbook.name,
    description: playbook.description,
    owner: playbook.owner ?? null,
    maintainer: playbook.maintainer ?? null,
    content: JSON.stringify(playbook.content),
    content_hash: origin.contentHash,
    labels: JSON.stringify(playbook.labels ?? {}),
    signals: playbook.signals ?? [],
    aliases: playbook.aliases ?? [],
    when_to_use: playbook.when_to_use ?? null,
    when_not_to_use: playbook.when_not_to_use ?? null,
    is_latest_version: true,
    previous_version: origin.previous,
    expected_success_rate: playbook.expected_success_rate ?? null,
    expected_duration_seconds: playbook.expected_duration_seconds ?? null,
    created_by: origin.createdBy,
    updated_by: origin.createdBy,
  };
  const columns = Object.keys(values);
  const rows: CreatedRow[] = await manager.query(
    `INSERT INTO playbook_catalog (${columns.join(', ')}) VALUES (${columns.map((_, at) => `$${at + 1}`).join(', ')})
     RETURNING playbook_id, version, status, is_latest_version, created_at`,
    Object.values(values),
  );
  const [created] = rows;
  if (!created) throw new Error('INSERT returned no row');
  return created;
}
