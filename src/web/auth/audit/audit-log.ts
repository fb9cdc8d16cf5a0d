import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { isUuid, newId } from '../../../base/common/ids.js';
import { storableJson } from '../../../base/common/pg-text.js';
import type { Principal } from '../../contract/principal.js';
import { keyIn, type Page, pageFrom } from '../../rest/page.js';
import type { AuditEntryView, AuditQuery } from './audit.dto.js';

/** The caller of an act, as its entry names it. */
export const actorOf = ({ userId, keyId, token }: Principal) => ({
  userId,
  keyId: keyId ?? null,
  ...(token?.name !== undefined && { keyName: token.name }),
  ...(token?.client !== undefined && { clientId: token.client }),
});

/** The record of administrative acts: the caller, the operation and its target. */
@Injectable()
export class AuditLog {
  private readonly logger = new Logger(AuditLog.name);

  constructor(private readonly dataSource: DataSource) {}

  /** Stores an entry. If that fails, the whole entry is logged, because the act has been done. */
  async write(entry: Omit<AuditEntryView, 'id' | 'at'>): Promise<void> {
    const stored = { id: newId(), at: new Date(), ...entry };
    const { id, at, keyId, userId, address, requestId, ...act } = stored;
    const { action, target, project, status, reason, ...details } = act;
    const values = [id, at, keyId, userId, address, requestId, action, target, project, status, reason];
    try {
      await this.dataSource.query(
        `INSERT INTO audit_entries
           (entry_id, at, key_id, user_id, address, request_id, action, target, project, status, reason, details)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
        [...values, storableJson(details)],
      );
    } catch (error) {
      this.logger.error({ audit: stored, err: error }, 'An entry of the audit could not be stored');
    }
  }

  /** A page of entries, newest first. @throws Problem `invalid_request` for an invalid cursor */
  async list(query: AuditQuery): Promise<Page<AuditEntryView>> {
    const { target, action, userId, keyId, since, until, limit, cursor } = query;
    const before = keyIn(cursor, (id) => (isUuid(id) ? id : undefined));
    const rows: AuditEntryView[] = await this.dataSource.query(
      `SELECT entry_id AS id, at, key_id AS "keyId", user_id AS "userId", address, request_id AS "requestId",
         action, target, project, status, reason, details ->> 'error' AS error,
         coalesce(details -> 'changes', '[]') AS changes,
         details ->> 'clientId' AS "clientId",
         coalesce(details ->> 'keyName',
           (SELECT name FROM api_keys WHERE api_keys.key_id = audit_entries.key_id)) AS "keyName",
         (SELECT name FROM api_keys WHERE target = 'keys/' || api_keys.key_id) AS "targetName"
       FROM audit_entries
       WHERE ($2::uuid IS NULL OR entry_id < $2)
         AND ($3::text IS NULL OR target = $3 OR starts_with(target, $3 || '/') OR split_part(target, '/', 2) = $3)
         AND ($4::text IS NULL OR action = $4)
         AND ($5::text IS NULL OR user_id = $5)
         AND ($6::text IS NULL OR key_id = $6)
         AND ($7::timestamptz IS NULL OR at >= $7)
         AND ($8::timestamptz IS NULL OR at <= $8)
       ORDER BY entry_id DESC LIMIT $1`,
      [limit + 1, ...[before, target, action, userId, keyId, since, until].map((value) => value ?? null)],
    );
    return pageFrom(rows, ({ id }) => id, limit);
  }
}
