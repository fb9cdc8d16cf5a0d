import { Inject, Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { sanitisedText } from '../../../base/common/pg-text.js';
import { TypedEvents } from '../../../base/common/typed-events.js';
import { WriteBehind } from '../../../base/common/write-behind.js';
import type { ShownPlaybookView } from '../playbook-views.dto.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';

/** Max length of a key part, so that it fits into the table's index in any script. */
const maxPartLength = 256;
/** Time for which showings are collected into one write. */
const gatherMs = 250;

/** The version of a playbook in an answer. */
type PlaybookIdentity = Pick<ShownPlaybookView, 'playbook_id' | 'version'>;

/** The playbooks of one answer to an investigation. */
interface Showing {
  readonly investigationId: string;
  readonly playbooks: readonly PlaybookIdentity[];
  readonly at: Date;
}

/** Sorted by key, so that two replicas never deadlock. */
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
 * up. Rows are written in batches after the call, so that it does not wait.
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
    super('what investigations are shown', showings, store, 0, gatherMs);
    this.showings = showings;
  }

  /** Remembers an answer, also a cached one. Never fails and never waits. */
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
