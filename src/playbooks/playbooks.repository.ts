import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { HiddenPlaybook, SearchablePlaybook } from './playbook.types.js';
import {
  allFields,
  type PlaybookRow,
  type PlaybookSummary,
  type StatusChangeRow,
  type VersionRow,
} from './playbook.rows.js';

/** What search reads: one state of the catalogue. */
interface SearchableCatalogue {
  /** Of the database: another one after every change, whoever made it. */
  readonly revision: string;
  /** By id. */
  readonly playbooks: readonly SearchablePlaybook[];
}

/** What reads the table `playbook_catalog`. */
@Injectable()
export class PlaybooksRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** @returns hash by `id@version` of everything stored */
  async hashes(): Promise<Map<string, string>> {
    const rows: { key: string; content_hash: string }[] = await this.dataSource.query(
      `SELECT playbook_id || '@' || version AS key, content_hash FROM playbook_catalog`,
    );
    return new Map(rows.map(({ key, content_hash }) => [key, content_hash]));
  }

  async revision(): Promise<string> {
    const rows: { revision: string }[] = await this.dataSource.query(
      'SELECT revision FROM playbook_catalog_state',
    );
    return rows[0]?.revision ?? '';
  }

  /** What search may show: latest versions that are active. One statement, so that the revision is that of the rows. */
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

  /** Latest versions that search may not show. */
  hidden(): Promise<HiddenPlaybook[]> {
    return this.dataSource.query(
      `SELECT playbook_id, version, status FROM playbook_catalog WHERE is_latest_version AND status <> 'active'`,
    );
  }

  /** Latest versions of any status, by id; `after` is the id at which the page before ended. */
  listLatest(after: string | undefined, limit: number): Promise<PlaybookSummary[]> {
    return this.dataSource.query(
      `SELECT playbook_id, version, name, description, owner, labels, status, actual_success_rate::float8,
         total_executions, created_at, updated_at,
         (SELECT count(*)::int FROM playbook_catalog every WHERE every.playbook_id = latest.playbook_id) AS total_versions
       FROM playbook_catalog latest WHERE is_latest_version AND playbook_id COLLATE "C" > $1
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
      `SELECT ${allFields} FROM playbook_catalog WHERE playbook_id = $1 AND version = $2`,
      [id, version],
    );
    return rows[0];
  }

  /** Oldest first. */
  statusHistory(id: string, version: string): Promise<StatusChangeRow[]> {
    return this.dataSource.query(
      `SELECT from_status, to_status, changed_at, changed_by, reason FROM playbook_status_changes
       WHERE playbook_id = $1 AND version = $2 ORDER BY changed_at, id`,
      [id, version],
    );
  }
}
