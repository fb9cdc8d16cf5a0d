import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';

/** A key's use by one call. */
export interface Claim {
  /** Id of the execution; also distinguishes claims of the same key. */
  readonly id: string;
  /** Hash of caller, tool and key. */
  readonly scope: string;
  readonly tool: string;
  readonly inputHash: string;
}

/** The state of a key, for a call that wants to claim it. */
export type KeyState =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'ended'; readonly inputHash: string; readonly outcome: string }
  | {
      readonly kind: 'running';
      readonly inputHash: string;
      /** Id of the claim that holds the key. */
      readonly holder: string;
      /** Whether the holder has not renewed its lease in time. */
      readonly abandoned: boolean;
      /** Whether the call has reached the tool. */
      readonly begun: boolean;
    };

/** A claim, as its row is found. */
type HeldClaim = Pick<Claim, 'id' | 'scope'>;

interface KeyRow {
  readonly input_hash: string;
  readonly claim: string;
  readonly outcome: string | null;
  readonly abandoned: boolean;
  readonly begun: boolean;
}

/** Max keys that one statement deletes. */
const deletedAtOnce = 1_000;
/** SQL for an interval of a parameter in milliseconds. */
const ms = (parameter: string): string => `${parameter} * interval '1 millisecond'`;

/**
 * Rows of idempotency_keys: keys and outcomes, which all replicas share. All times are of the database's clock. Each method
 * throws if the database is unavailable.
 */
@Injectable()
export class IdempotencyRepository {
  private readonly ttlMs: number;
  private readonly leaseMs: number;

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Inject(APP_CONFIG) { idempotency }: Pick<AppConfig, 'idempotency'>,
  ) {
    this.ttlMs = idempotency.ttlMs;
    this.leaseMs = idempotency.leaseMs;
  }

  /** Claims a key unless another call holds it. @returns undefined if it changed meanwhile: call again */
  async claim({ id, scope, tool, inputHash }: Claim): Promise<KeyState | undefined> {
    const [row] = await this.rows<KeyRow & { readonly claimed: boolean }>(
      `WITH mine AS (
         INSERT INTO idempotency_keys AS old (scope, tool, input_hash, claim, begun, held_until, expires_at)
         VALUES ($1, $2, $3, $4, false, now() + ${ms('$5')}, now() + ${ms('$6')})
         ON CONFLICT (scope) DO UPDATE
         SET input_hash = excluded.input_hash, claim = excluded.claim, held_until = excluded.held_until,
             begun = false, outcome = NULL, created_at = now(), expires_at = excluded.expires_at
         WHERE old.expires_at <= now() AND (old.outcome IS NOT NULL OR old.held_until <= now())
         RETURNING input_hash, claim
       )
       SELECT true AS claimed, input_hash, claim, NULL AS outcome, false AS abandoned, false AS begun FROM mine
       UNION ALL
       SELECT false, input_hash, claim, outcome, held_until <= now(), begun FROM idempotency_keys
       WHERE scope = $1 AND NOT EXISTS (SELECT FROM mine)`,
      [scope, tool, inputHash, id, this.leaseMs, this.ttlMs],
    );
    return row && (row.claimed ? { kind: 'claimed' } : stateOf(row));
  }

  /** Claims a key that its holder abandoned. @returns false if the holder came back or another claim was faster */
  takeOver(holder: string, { id, scope }: Claim): Promise<boolean> {
    return this.changes(
      `UPDATE idempotency_keys SET claim = $3, begun = false, held_until = now() + ${ms('$4')}
       WHERE scope = $1 AND claim = $2 AND outcome IS NULL AND held_until <= now() RETURNING 1`,
      [scope, holder, id, this.leaseMs],
    );
  }

  /** Records that the call reaches the tool now. @returns false if the claim was lost: do not run the call */
  begin({ id, scope }: HeldClaim): Promise<boolean> {
    return this.changes(
      `UPDATE idempotency_keys SET begun = true
       WHERE scope = $1 AND claim = $2 AND outcome IS NULL RETURNING 1`,
      [scope, id],
    );
  }

  /**
   * Stores the outcome of a claim; may be repeated.
   * @param onlyIfAbandoned whether a claim that its holder still renews stays
   * @returns false if the claim was lost, or is not abandoned
   */
  end({ id, scope }: HeldClaim, outcome: string, { onlyIfAbandoned = false } = {}): Promise<boolean> {
    return this.changes(
      `UPDATE idempotency_keys SET outcome = $3, begun = true, expires_at = now() + ${ms('$4')}
       WHERE scope = $1 AND claim = $2 AND (outcome IS NULL AND (NOT $5 OR held_until <= now()) OR outcome = $3)
       RETURNING 1`,
      [scope, id, outcome, this.ttlMs, onlyIfAbandoned],
    );
  }

  /** Deletes a claim without outcome, so that the key can be used again. */
  async release({ id, scope }: HeldClaim): Promise<void> {
    const sql =
      'DELETE FROM idempotency_keys WHERE scope = $1 AND claim = $2 AND outcome IS NULL RETURNING 1';
    await this.changes(sql, [scope, id]);
  }

  /** Extends the leases of these claims. */
  async renew(claims: readonly HeldClaim[]): Promise<void> {
    await this.changes(
      `UPDATE idempotency_keys AS k SET held_until = now() + ${ms('$3')}
       FROM unnest($1::text[], $2::uuid[]) AS held (scope, claim)
       WHERE k.scope = held.scope AND k.claim = held.claim AND k.outcome IS NULL RETURNING 1`,
      [claims.map(({ scope }) => scope), claims.map(({ id }) => id), this.leaseMs],
    );
  }

  /** Deletes expired keys. @returns their number */
  async deleteExpired(): Promise<number> {
    let deleted = 0;
    for (;;) {
      // Small steps, because a long delete would block new claims of these keys.
      const rows = await this.rows(
        `DELETE FROM idempotency_keys WHERE scope IN (
           SELECT scope FROM idempotency_keys
           WHERE expires_at <= now() AND (outcome IS NOT NULL OR held_until <= now())
           LIMIT $1 FOR UPDATE SKIP LOCKED
         ) RETURNING 1`,
        [deletedAtOnce],
      );
      deleted += rows.length;
      if (rows.length < deletedAtOnce) return deleted;
    }
  }

  /** Runs a statement that returns the changed rows. @returns whether there are any */
  private async changes(sql: string, parameters: unknown[]): Promise<boolean> {
    return (await this.rows(sql, parameters)).length > 0;
  }

  /** The rows of a statement. TypeORM answers an UPDATE or DELETE with its rows and their number. */
  private async rows<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    const answer = await this.dataSource.query<Row[] | [Row[], number]>(sql, parameters);
    return (Array.isArray(answer[0]) ? answer[0] : answer) as Row[];
  }
}

function stateOf({ input_hash: inputHash, claim: holder, outcome, abandoned, begun }: KeyRow): KeyState {
  return outcome === null
    ? { kind: 'running', inputHash, holder, abandoned, begun }
    : { kind: 'ended', inputHash, outcome };
}
