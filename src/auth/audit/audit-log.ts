import { Injectable, Logger } from '@nestjs/common';
import { isUuid, newId } from '../../common/ids.js';
import { keyIn, type Page, pageFrom } from '../../common/page.js';
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
    const before = keyIn(cursor, (id) => (isUuid(id) ? id : undefined));
    const rows = await this.repository.page({ ...query, limit: limit + 1 }, before);
    return pageFrom(rows, ({ id }) => id, limit);
  }
}
