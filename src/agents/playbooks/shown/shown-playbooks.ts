import { Inject, Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { sanitisedText } from '../../../base/common/pg-text.js';
import { TypedEvents } from '../../../base/common/typed-events.js';
import { WriteBehind } from '../../../base/common/write-behind.js';
import type { ShownPlaybookView } from '../playbook-views.dto.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';

/** Max characters of each column of the key, so that the key fits into the table's index in any script. */
const maxPartLength = 256;
/** Delay of a write, which collects the showings of this time. */
const writeDelayMs = 250;
/** Rows have their own time of expiry. */
const noRetentionDays = 0;

/** The version of a playbook in an answer. */
type PlaybookIdentity = Pick<ShownPlaybookView, 'playbook_id' | 'version'>;

/** The playbooks of one answer to an investigation. */
interface Showing {
  readonly investigationId: string;
  readonly playbooks: readonly PlaybookIdentity[];
  readonly at: Date;
}

/** Adds showings to the table. Sorted by key, so that two replicas never deadlock. */
const upsert = `
  INSERT INTO playbook_shown AS old
    (investigation_id, playbook_id, version, first_shown_at, last_shown_at, times, expires_at)
  SELECT i, p, v, min(at), max(at), count(*), max(at) + $5 * interval '1 millisecond'
  FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) AS shown (i, p, v, at)
  GROUP BY i, p, v
  ORDER BY i, p, v
  ON CONFLICT (investigation_id, playbook_id, version) DO UPDATE
  SET first_shown_at = CASE WHEN old.expires_at <= now() THEN excluded.first_shown_at ELSE
        least(old.first_shown_at, excluded.first_shown_at) END,
      last_shown_at = greatest(old.last_shown_at, excluded.last_shown_at),
      times = CASE WHEN old.expires_at <= now() THEN excluded.times ELSE old.times + excluded.times END,
      expires_at = greatest(old.expires_at, excluded.expires_at)`;

const selectShown = `
  SELECT playbook_id, version, first_shown_at, last_shown_at, times FROM playbook_shown
  WHERE investigation_id = $1 AND expires_at > now()
  ORDER BY playbook_id COLLATE "C", version COLLATE "C"`;

const deleteExpired = `
  DELETE FROM playbook_shown WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM playbook_shown WHERE expires_at <= now() FOR UPDATE SKIP LOCKED))`;

/**
 * Remembers which playbooks were shown to an investigation, so that a platform can refuse a selection that an LLM made
 * up. Rows are written in batches after the call, so that calls do not wait for the database.
 */
@Injectable()
export class ShownPlaybooks extends WriteBehind<Showing> {
  private readonly showings: TypedEvents<Showing>;

  constructor(
    private readonly db: DataSource,
    @Inject(APP_CONFIG) { investigations }: Pick<AppConfig, 'investigations'>,
  ) {
    const showings = new TypedEvents<Showing>((error) => new Logger(ShownPlaybooks.name).error(error));
    const store = {
      insert: async (batch: readonly Showing[]): Promise<void> => {
        const rows = batch.flatMap(({ investigationId, playbooks, at }) =>
          playbooks.map(({ playbook_id, version }) => ({ investigationId, playbook_id, version, at })),
        );
        await db.query(upsert, [
          rows.map(({ investigationId }) => investigationId),
          rows.map(({ playbook_id }) => playbook_id),
          rows.map(({ version }) => version),
          rows.map(({ at }) => at),
          investigations.ttlMs,
        ]);
      },
      deleteOlder: () => db.query(deleteExpired),
    };
    super('what investigations are shown', showings, store, noRetentionDays, writeDelayMs);
    this.showings = showings;
  }

  /** Remembers the playbooks of an answer, also of a cached one. Never fails and never waits. */
  remember(investigationId: string, shown: readonly PlaybookIdentity[]): void {
    const playbooks = shown
      .map(({ playbook_id, version }) => ({
        playbook_id: sanitisedText(playbook_id),
        version: sanitisedText(version),
      }))
      .filter(({ playbook_id, version }) => Math.max(playbook_id.length, version.length) <= maxPartLength);
    if (playbooks.length === 0 || investigationId.length > maxPartLength) return;
    this.showings.emit({ investigationId: sanitisedText(investigationId), playbooks, at: new Date() });
  }

  /** The playbooks shown to an investigation, sorted; empty after it has expired. */
  async of(investigationId: string): Promise<ShownPlaybookView[]> {
    await this.flush();
    return this.db.query(selectShown, [investigationId]);
  }
}
