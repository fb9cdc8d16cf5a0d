import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { StoredKey } from './keys.dto.js';

/** The members with which a key is stored first. */
type NewKey = Omit<StoredKey, 'createdAt' | 'revokedAt' | 'revokedBy' | 'lastUsedAt'>;

/** Changes of a key. Absent members stay as they are. */
export type KeyChanges = Partial<
  Pick<StoredKey, 'name' | 'projects' | 'tools' | 'mcpServers' | 'rate' | 'expiresAt'>
>;

const selectedColumns = `
  k.key_id AS id, k.hash, k.name, k.owner, k.scopes, k.projects, k.tools,
  k.mcp_servers AS "mcpServers", k.rate,
  k.created_at AS "createdAt", k.created_by AS "createdBy", k.expires_at AS "expiresAt",
  k.revoked_at AS "revokedAt", k.revoked_by AS "revokedBy", k.last_used_at AS "lastUsedAt"`;

/** The column of each member that may change. */
const columnOf: Readonly<Record<keyof KeyChanges, string>> = {
  name: 'name',
  projects: 'projects',
  tools: 'tools',
  mcpServers: 'mcp_servers',
  rate: 'rate',
  expiresAt: 'expires_at',
};

@Injectable()
export class KeysRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** The revision of the table, which changes with each change of a key. */
  async revision(): Promise<string> {
    const rows: { revision: string }[] = await this.dataSource.query('SELECT revision FROM api_keys_state');
    return rows[0]?.revision ?? '';
  }

  /** All valid keys, with their revision in the same statement. */
  async valid(): Promise<{ readonly revision: string; readonly keys: readonly StoredKey[] }> {
    const rows: ({ revision: string } & (StoredKey | { id: null }))[] = await this.dataSource.query(
      `SELECT s.revision, ${selectedColumns}
       FROM api_keys_state s
       LEFT JOIN api_keys k ON k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
    );
    const keys = rows.flatMap(({ revision: _, ...row }) => (row.id === null ? [] : [row]));
    return { revision: rows[0]?.revision ?? '', keys };
  }

  /** A page of keys, newest first. @param after last id of the previous page */
  page(limit: number, after: string | undefined): Promise<StoredKey[]> {
    return this.dataSource.query(
      `SELECT ${selectedColumns} FROM api_keys k
       WHERE $2::text IS NULL OR k.key_id < $2 ORDER BY k.key_id DESC LIMIT $1`,
      [limit, after ?? null],
    );
  }

  async find(id: string): Promise<StoredKey | undefined> {
    const rows: StoredKey[] = await this.dataSource.query(
      `SELECT ${selectedColumns} FROM api_keys k WHERE k.key_id = $1`,
      [id],
    );
    return rows[0];
  }

  async insert(key: NewKey): Promise<void> {
    const { id, hash, name, owner, scopes, projects, tools, mcpServers, rate, createdBy, expiresAt } = key;
    await this.dataSource.query(
      `INSERT INTO api_keys (key_id, hash, name, owner, scopes, projects, tools, mcp_servers, rate, created_by, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      [id, hash, name, owner, scopes, projects, tools, mcpServers, rate, createdBy, expiresAt],
    );
  }

  /** Changes a key, unless it is revoked. */
  async update(id: string, changes: KeyChanges): Promise<void> {
    const given = Object.entries(changes) as [keyof KeyChanges, unknown][];
    if (given.length === 0) return;
    // $1 is the id.
    const columns = given.map(([member], index) => `${columnOf[member]} = $${index + 2}`).join(', ');
    await this.dataSource.query(`UPDATE api_keys SET ${columns} WHERE key_id = $1 AND revoked_at IS NULL`, [
      id,
      ...given.map(([, value]) => value),
    ]);
  }

  /** Records who revoked the key and when, and deletes its accounts at MCP servers. Revoking again changes nothing. */
  async revoke(id: string, by: string): Promise<void> {
    await this.dataSource.query(
      `WITH ended AS (DELETE FROM accounts WHERE user_id = $1)
       UPDATE api_keys SET revoked_at = now(), revoked_by = $2 WHERE key_id = $1 AND revoked_at IS NULL`,
      [id, by],
    );
  }

  /** Stores last uses, unless later ones are stored. @param used milliseconds since the epoch, by id */
  async updateLastUses(used: ReadonlyMap<string, number>): Promise<void> {
    await this.dataSource.query(
      `UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, to_timestamp(u.at / 1000.0))
       FROM unnest($1::text[], $2::float8[]) AS u (id, at) WHERE k.key_id = u.id`,
      [[...used.keys()], [...used.values()]],
    );
  }
}
