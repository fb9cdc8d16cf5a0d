import { Injectable, Logger } from '@nestjs/common';
import { isUuid, newId } from '../../common/ids.js';
import { decodeCursor, encodeCursor, type Page, wrongCursor } from '../../common/page.js';
import type { AuditEntryView, AuditQuery } from './audit.shapes.js';
import { AuditRepository } from './audit.repository.js';

/** The record of administrative acts: the caller, the operation and its target. */
@Injectable()
export class AuditLog {
  private readonly logger = new Logger(AuditLog.name);

  constructor(private readonly repository: AuditRepository) {}

  /** The act has been done: where its entry cannot be stored it stands in the server's log, as a whole. */
  async write(entry: Omit<AuditEntryView, 'id' | 'at'>): Promise<void> {
    const stored = { id: newId(), at: new Date(), ...entry };
    try {
      await this.repository.insert(stored);
    } catch (error) {
      this.logger.error({ audit: stored, err: error }, 'An entry of the audit could not be stored');
    }
  }

  async list(query: AuditQuery): Promise<Page<AuditEntryView>> {
    const { limit, cursor } = query;
    const before = cursor === undefined ? undefined : decodeCursor(cursor);
    if (before !== undefined && !isUuid(before)) throw wrongCursor();
    const rows = await this.repository.page({ ...query, limit: limit + 1 }, before);
    const data = rows.slice(0, limit);
    const last = data.at(-1);
    return { data, nextCursor: last && rows.length > limit ? encodeCursor(last.id) : null };
  }
}
