import { Injectable, Inject } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import type { CircuitKind, CircuitPast } from './breaker/circuit-state.js';
import { sanitisedText } from '../common/pg-text.js';
import { type CircuitTransition, CircuitEvents } from './circuit-events.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { WriteBehind } from '../common/write-behind.js';

interface TransitionRow extends Omit<CircuitTransition, 'at'> {
  readonly at: Date;
}

interface PastRow {
  readonly tool: string;
  readonly lastState: CircuitKind;
  readonly closedAt: Date | null;
  readonly openings: number;
  /** The last change by hand, if there was one. */
  readonly byHand: { readonly to: CircuitKind; at: number; reason: string; by: string } | null;
}

/** A transition that is there already stays as it is: a batch may be written again. */
const insert = `
  INSERT INTO circuit_transitions (transition_id, tool, from_state, to_state, reason, changed_by, at, openings)
  SELECT transition_id, tool, from_state, to_state, reason, changed_by, to_timestamp(at_ms / 1000), openings
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::float8[], $8::int[])
    WITH ORDINALITY AS batch (transition_id, tool, from_state, to_state, reason, changed_by, at_ms, openings, place)
  ORDER BY place
  ON CONFLICT (transition_id) DO NOTHING`;

/** tool, limit */
const selectNewest = `
  SELECT transition_id AS "id", tool, from_state AS "from", to_state AS "to", reason, changed_by AS "by", at,
         openings
  FROM circuit_transitions
  WHERE tool = $1
  ORDER BY seq DESC
  LIMIT $2`;

const selectPasts = `
  SELECT tool,
         (array_agg(to_state ORDER BY seq DESC))[1] AS "lastState",
         (array_agg(openings ORDER BY seq DESC))[1] AS "openings",
         max(at) FILTER (WHERE to_state = 'closed') AS "closedAt",
         (array_agg(
           jsonb_build_object('to', to_state, 'at', extract(epoch FROM at) * 1000, 'reason', reason, 'by', changed_by)
           ORDER BY seq DESC
         ) FILTER (WHERE changed_by IS NOT NULL))[1] AS "byHand"
  FROM circuit_transitions
  GROUP BY tool`;

/** before: of each tool its last transition and what was done by hand last stay, whatever their age */
const deleteOlder = `
  WITH deleted AS (
    DELETE FROM circuit_transitions old
    WHERE at < $1 AND EXISTS (
      SELECT 1 FROM circuit_transitions later
      WHERE later.tool = old.tool AND later.seq > old.seq
        AND (old.changed_by IS NULL OR later.changed_by IS NOT NULL)
    )
    RETURNING 1
  )
  SELECT count(*)::int AS "deleted" FROM deleted`;

/** The changes of circuits, durable. */
@Injectable()
export class CircuitTransitionsRepository {
  constructor(@InjectDataSource() private readonly db: DataSource) {}

  /** In the order in which they happened. */
  async insert(transitions: readonly CircuitTransition[]): Promise<void> {
    const column = (of: (transition: CircuitTransition) => unknown): unknown[] => transitions.map(of);
    await this.db.query(insert, [
      column(({ id }) => id),
      column(({ tool }) => sanitisedText(tool)),
      column(({ from }) => from),
      column(({ to }) => to),
      column(({ reason }) => sanitisedText(reason)),
      column(({ by }) => by && sanitisedText(by)),
      column(({ at }) => at),
      column(({ openings }) => openings),
    ]);
  }

  /** The newest of one tool, oldest first. */
  async newest(tool: string, limit: number): Promise<CircuitTransition[]> {
    const rows = await this.db.query<TransitionRow[]>(selectNewest, [sanitisedText(tool), limit]);
    return rows.map((row) => ({ ...row, at: row.at.getTime() })).reverse();
  }

  /** Each circuit's past before a restart, by tool. */
  async pasts(): Promise<Map<string, Omit<CircuitPast, 'samples'>>> {
    const rows = await this.db.query<PastRow[]>(selectPasts);
    return new Map(
      rows.map(({ tool, lastState, openings, closedAt, byHand }) => [
        tool,
        {
          lastState,
          openings,
          ...(closedAt && { closedAt: closedAt.getTime() }),
          ...(byHand?.to === 'open' && { held: byHand }),
        },
      ]),
    );
  }

  /** @returns how many were deleted */
  async deleteOlder(before: Date): Promise<number> {
    const [row] = await this.db.query<{ deleted: number }[]>(deleteOlder, [before]);
    return row?.deleted ?? 0;
  }
}

/** The history of circuits, kept as long as metrics. */
@Injectable()
export class CircuitHistory extends WriteBehind<CircuitTransition> {
  constructor(
    @Inject(APP_CONFIG) { recorder }: AppConfig,
    events: CircuitEvents,
    private readonly repository: CircuitTransitionsRepository,
  ) {
    super('circuit history', events, repository, recorder.retentionDays);
  }

  /**
   * The newest of one tool, oldest first.
   * @throws the database's error
   */
  async newest(tool: string, limit: number): Promise<CircuitTransition[]> {
    await this.flush();
    return this.repository.newest(tool, limit);
  }
}
