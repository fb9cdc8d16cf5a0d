import { Inject, Injectable, Logger } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import type { CircuitChange, CircuitKind, CircuitPast } from '../../base/outbound/breaker/circuit-state.js';
import { TypedEvents } from '../../base/common/typed-events.js';
import { sanitisedText, storableJson } from '../../base/common/pg-text.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { WriteBehind } from '../../base/common/write-behind.js';
import { endsWithin } from '../../base/common/abortable.js';
import { ExecutionRecorder } from '../../records/executions/execution-recorder.js';
import { ToolMetricsRepository } from '../../records/executions/tool-metrics.repository.js';

/** A change of a tool's circuit; `id` is a UUIDv7, `at` milliseconds since the epoch. */
export interface CircuitTransition extends CircuitChange {
  readonly id: string;
  readonly tool: string;
  /** The replica that made it; absent with the embedded database. */
  readonly replica?: string | null;
  /** Whether it applies to that replica only. */
  readonly local?: boolean;
}

/** Emits every transition of a circuit synchronously. A listener that throws does not fail the call. */
@Injectable()
export class CircuitEvents extends TypedEvents<CircuitTransition> {
  constructor() {
    const logger = new Logger(CircuitEvents.name);
    super((error) => logger.error(error, 'a listener of circuits failed'));
  }
}

/** A transition, as its row is read. */
interface TransitionRow extends Omit<CircuitTransition, 'at'> {
  readonly at: Date;
}

/** A summary of the transitions of one circuit. */
interface HistoryRow {
  readonly tool: string;
  readonly last: NonNullable<CircuitPast['last']>;
  readonly closedAt: Date | null;
  readonly openSince: Date | null;
  /** The last change by hand, if there was one. */
  readonly byHand: { readonly to: CircuitKind; at: number; reason: string; by: string } | null;
}

/**
 * Inserts a batch; stored transitions stay as they are, because a batch may be written twice. A lock lets one replica insert
 * at a time, so that transitions become visible in their order.
 */
const insertTransitions = `
  WITH turn AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtext('circuit_transitions')))
  INSERT INTO circuit_transitions
    (transition_id, tool, from_state, to_state, reason, changed_by, at, openings, replica, local)
  SELECT id, tool, "from", "to", reason, by, to_timestamp(at_ms / 1000), openings, replica, coalesce(local, false)
  FROM turn, ROWS FROM (
    json_to_recordset($1::json)
      AS (id uuid, tool text, "from" text, "to" text, reason text, by text, at float8, openings int, replica text,
          local boolean)
  ) WITH ORDINALITY AS batch (id, tool, "from", "to", reason, by, at_ms, openings, replica, local, place)
  ORDER BY place
  ON CONFLICT (transition_id) DO NOTHING`;

/** Parameters: tool, limit. */
const selectNewest = `
  SELECT transition_id AS "id", tool, from_state AS "from", to_state AS "to", reason, changed_by AS "by", at,
         openings
  FROM circuit_transitions
  WHERE tool = $1
  ORDER BY seq DESC
  LIMIT $2`;

/** The last change of each tool that all replicas share. Parameter: seq after which to search. */
const selectSince = `
  SELECT DISTINCT ON (tool) seq::float8 AS seq, transition_id AS "id", tool, from_state AS "from", to_state AS "to",
         reason, changed_by AS "by", at, openings, replica
  FROM circuit_transitions
  WHERE seq > $1 AND NOT local AND (replica IS NOT NULL OR changed_by IS NOT NULL)
  ORDER BY tool, seq DESC`;

/** The history of each tool's circuit. No parameters. */
const selectHistories = `
  SELECT tool,
         (array_agg(
           jsonb_build_object('id', transition_id, 'to', to_state, 'at', extract(epoch FROM at) * 1000,
                              'reason', reason, 'openings', openings)
           ORDER BY seq DESC
         ))[1] AS "last",
         max(at) FILTER (WHERE to_state = 'closed') AS "closedAt",
         min(at) FILTER (WHERE to_state = 'open' AND seq > coalesce(closed_seq, 0)) AS "openSince",
         (array_agg(
           jsonb_build_object('to', to_state, 'at', extract(epoch FROM at) * 1000, 'reason', reason, 'by', changed_by)
           ORDER BY seq DESC
         ) FILTER (WHERE changed_by IS NOT NULL))[1] AS "byHand"
  FROM (
    SELECT *, max(seq) FILTER (WHERE to_state = 'closed') OVER (PARTITION BY tool) AS closed_seq
    FROM circuit_transitions
    WHERE NOT local
  ) AS changes
  GROUP BY tool`;

/** Deletes old transitions, except each tool's last one and its last one by hand. Parameter: the time before which. */
const deleteTransitions = `
  DELETE FROM circuit_transitions old
  WHERE at < $1 AND EXISTS (
    SELECT 1 FROM circuit_transitions later
    WHERE later.tool = old.tool AND later.seq > old.seq
      AND (old.changed_by IS NULL OR later.changed_by IS NOT NULL)
  )`;

/** Stores changes of circuits, as long as metrics. */
@Injectable()
export class CircuitTransitionsRepository extends WriteBehind<CircuitTransition> {
  constructor(
    @Inject(APP_CONFIG) { recorder }: Pick<AppConfig, 'recorder'>,
    @InjectDataSource() private readonly db: DataSource,
    events: CircuitEvents,
  ) {
    const storage = {
      insert: (transitions: readonly CircuitTransition[]) => this.insert(transitions),
      deleteOlder: (before: Date) => this.deleteOlder(before),
    };
    super('circuit history', events, storage, recorder.retentionDays);
  }

  /** Stores transitions, which must be in their order. */
  async insert(transitions: readonly CircuitTransition[]): Promise<void> {
    await this.db.query(insertTransitions, [storableJson(transitions)]);
  }

  async deleteOlder(before: Date): Promise<void> {
    await this.db.query(deleteTransitions, [before]);
  }

  /** The newest transitions of one tool, oldest first. @throws the database's error */
  async newest(tool: string, limit: number): Promise<CircuitTransition[]> {
    await this.flush();
    const rows = await this.db.query<TransitionRow[]>(selectNewest, [sanitisedText(tool), limit]);
    return rows.map((row) => ({ ...row, at: row.at.getTime() })).reverse();
  }

  /** The sequence number of the newest change; 0 without one. */
  async lastSeq(): Promise<number> {
    const [row] = await this.db.query<{ seq: number }[]>(
      'SELECT coalesce(max(seq), 0)::float8 AS seq FROM circuit_transitions',
    );
    return row?.seq ?? 0;
  }

  /** The newest change of each tool after a sequence number, if all replicas share it. */
  async since(seq: number): Promise<(CircuitTransition & { readonly seq: number })[]> {
    const rows = await this.db.query<(TransitionRow & { readonly seq: number })[]>(selectSince, [seq]);
    return rows.map((row) => ({ ...row, at: row.at.getTime() }));
  }

  /** The history of each circuit before a restart, by tool. */
  async histories(): Promise<Map<string, Omit<CircuitPast, 'samples'>>> {
    const rows = await this.db.query<HistoryRow[]>(selectHistories);
    return new Map(
      rows.map(({ tool, last, closedAt, openSince, byHand }) => [
        tool,
        {
          last,
          ...(openSince && { openSince: openSince.getTime() }),
          ...(closedAt && { closedAt: closedAt.getTime() }),
          ...(byHand?.to === 'open' && { held: byHand }),
        },
      ]),
    );
  }
}

/** Max samples to read of a tool with a window of its own. */
const maxSamples = 100_000;
/** Max wait at start for the records of an earlier process. */
const replayTimeoutMs = 5_000;

/** Reads the histories of circuits from before the start. */
@Injectable()
export class CircuitHistories {
  private readonly logger = new Logger(CircuitHistories.name);

  constructor(
    private readonly metrics: ToolMetricsRepository,
    private readonly transitions: CircuitTransitionsRepository,
    private readonly recorder: ExecutionRecorder,
  ) {}

  /** The histories of all tools, with the samples since a time. @throws the database's error */
  async read(since: Date): Promise<Map<string, CircuitPast>> {
    // The journal of an earlier process is awaited, but not for long: the start must not depend on the database.
    if (!(await endsWithin(replayTimeoutMs, this.recorder.replayed)))
      this.logger.warn('circuits start without what the last journal holds: it is not in the database yet');
    const [samples, transitions] = await Promise.all([
      this.metrics.getFaultSamples(since),
      this.transitions.histories(),
    ]);
    const byTool = Map.groupBy(samples, ({ tool }) => tool);
    const tools = new Set([...transitions.keys(), ...byTool.keys()]);
    return new Map(
      [...tools].map((tool) => [
        tool,
        { ...transitions.get(tool), samples: (byTool.get(tool) ?? []).map(sampleOf) },
      ]),
    );
  }

  /** One tool's samples between two times, both milliseconds since the epoch. @throws the database's error */
  async samplesOf(tool: string, since: number, until: number): Promise<CircuitPast['samples']> {
    const read = await this.metrics.getFaultSamplesOf(tool, new Date(since), maxSamples);
    return read.map(sampleOf).filter(({ at }) => at <= until);
  }
}

const sampleOf = ({ at, fault }: { at: Date; fault: boolean }) => ({ at: at.getTime(), fault });
