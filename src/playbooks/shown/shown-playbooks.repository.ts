import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';

export interface ShownKey {
  readonly investigationId: string;
  readonly playbook_id: string;
  readonly version: string;
}

/** That a playbook was shown to an investigation, once or several times. */
export interface Showing extends ShownKey {
  readonly first_shown_at: Date;
  readonly last_shown_at: Date;
  readonly times: number;
}

export type ShownRow = Omit<Showing, 'investigationId'>;

const deletedAtOnce = 1_000;
const columns = `playbook_id, version, first_shown_at, last_shown_at, times`;

/** Rows of playbook_shown. */
@Injectable()
export class ShownPlaybooksRepository {
  private readonly ttlMs: number;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(APP_CONFIG) { investigations }: Pick<AppConfig, 'investigations'>,
  ) {
    this.ttlMs = investigations.ttlMs;
  }

  /** Adds to what is stored; each key at most once. An investigation lives for its TTL from here on. */
  async add(showings: readonly Showing[]): Promise<void> {
    // In the order of the key: two replicas that write never wait for each other in a circle.
    const sorted = [...showings].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    await this.dataSource.query(
      `INSERT INTO playbook_shown AS old
         (investigation_id, playbook_id, version, first_shown_at, last_shown_at, times, expires_at)
       SELECT i, p, v, f, l, t, l + $7 * interval '1 millisecond'
       FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::integer[])
         AS shown (i, p, v, f, l, t)
       ON CONFLICT (investigation_id, playbook_id, version) DO UPDATE
       SET first_shown_at = CASE WHEN old.expires_at <= now() THEN excluded.first_shown_at ELSE
             least(old.first_shown_at, excluded.first_shown_at) END,
           last_shown_at = greatest(old.last_shown_at, excluded.last_shown_at),
           times = CASE WHEN old.expires_at <= now() THEN excluded.times ELSE old.times + excluded.times END,
           expires_at = greatest(old.expires_at, excluded.expires_at)`,
      [
        sorted.map(({ investigationId }) => investigationId),
        sorted.map(({ playbook_id }) => playbook_id),
        sorted.map(({ version }) => version),
        sorted.map(({ first_shown_at }) => first_shown_at),
        sorted.map(({ last_shown_at }) => last_shown_at),
        sorted.map(({ times }) => times),
        this.ttlMs,
      ],
    );
  }

  /** What was shown to an investigation that has not expired, by playbook and version. */
  of(investigationId: string): Promise<ShownRow[]> {
    return this.dataSource.query(
      `SELECT ${columns} FROM playbook_shown WHERE investigation_id = $1 AND expires_at > now()
       ORDER BY playbook_id COLLATE "C", version COLLATE "C"`,
      [investigationId],
    );
  }

  async find({ investigationId, playbook_id, version }: ShownKey): Promise<ShownRow | undefined> {
    const rows: ShownRow[] = await this.dataSource.query(
      `SELECT ${columns} FROM playbook_shown
       WHERE investigation_id = $1 AND playbook_id = $2 AND version = $3 AND expires_at > now()`,
      [investigationId, playbook_id, version],
    );
    return rows[0];
  }

  /** Removes what has expired. @returns how many */
  async deleteExpired(): Promise<number> {
    let deleted = 0;
    for (;;) {
      const [, count]: [unknown, number] = await this.dataSource.query(
        `DELETE FROM playbook_shown WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM playbook_shown WHERE expires_at <= now() LIMIT $1 FOR UPDATE SKIP LOCKED))`,
        [deletedAtOnce],
      );
      deleted += count;
      if (count < deletedAtOnce) return deleted;
    }
  }
}

/** No part holds a NUL. */
export const keyOf = ({ investigationId, playbook_id, version }: ShownKey): string =>
  `${investigationId}\0${playbook_id}\0${version}`;
