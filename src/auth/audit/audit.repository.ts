import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { AuditEntryView, AuditQuery } from './audit.shapes.js';

/** Reads and writes the table `audit_entries`. */
@Injectable()
export class AuditRepository {
  constructor(private readonly dataSource: DataSource) {}

  async insert(entry: AuditEntryView): Promise<void> {
    const { id, at, keyId, userId, address, requestId, action, target, status, reason } = entry;
    const { beforeHash, afterHash } = entry;
    await this.dataSource.query(
      `INSERT INTO audit_entries
         (entry_id, at, key_id, user_id, address, request_id, action, target, status, reason, before_hash, after_hash)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
      [id, at, keyId, userId, address, requestId, action, target, status, reason, beforeHash, afterHash],
    );
  }

  /** Newest first; `before` is the id at which the page before ended. */
  page(query: AuditQuery, before: string | undefined): Promise<AuditEntryView[]> {
    const { target, action, userId, keyId, since, until, limit } = query;
    return this.dataSource.query(
      `SELECT entry_id AS id, at, key_id AS "keyId", user_id AS "userId", address, request_id AS "requestId",
         action, target, status, reason, before_hash AS "beforeHash", after_hash AS "afterHash"
       FROM audit_entries
       WHERE ($2::uuid IS NULL OR entry_id < $2)
         AND ($3::text IS NULL OR target = $3 OR starts_with(target, $3 || '/'))
         AND ($4::text IS NULL OR action = $4)
         AND ($5::text IS NULL OR user_id = $5)
         AND ($6::text IS NULL OR key_id = $6)
         AND ($7::timestamptz IS NULL OR at >= $7)
         AND ($8::timestamptz IS NULL OR at <= $8)
       ORDER BY entry_id DESC LIMIT $1`,
      [limit, ...[before, target, action, userId, keyId, since, until].map((value) => value ?? null)],
    );
  }
}
