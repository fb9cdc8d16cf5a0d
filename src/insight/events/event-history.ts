import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource, EntityManager } from 'typeorm';
import { newId } from '../../base/common/ids.js';
import { TypedEvents } from '../../base/common/typed-events.js';
import { storableJson } from '../../base/common/pg-text.js';
import { WriteBehind } from '../../base/common/write-behind.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { FleetBarrier } from '../../base/database/fleet-barrier.js';
import { TableFollower } from '../../base/database/table-follower.js';
import { retryAtStart } from '../../base/database/transient-error.js';
import { WebhookQueue } from '../../base/jobs/webhook-queue.js';
import { EventRing, type Placed } from '../../base/streams/event-ring.js';
import { type PublishedEvent, type ToolEvent, ToolEvents } from '../../base/streams/tool-events.js';
import { CircuitBreakers } from '../../call/circuits/circuit-breakers.js';

/** An event that is not stored yet. */
interface Waiting {
  readonly key: string;
  readonly event: ToolEvent;
}

/** A stored event with its sequence number. */
interface EventRow {
  readonly seq: string;
  readonly event: ToolEvent;
}

/**
 * Inserts events, except stored ones, because a batch may be repeated. The lock makes replicas insert one after another,
 * so that no event becomes visible after a later one.
 */
const insertEvents = `
  WITH turn AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtext('tool_events')))
  INSERT INTO tool_events (id, at, event)
  SELECT waiting ->> 'key', (waiting #>> '{event,timestamp}')::timestamptz, waiting -> 'event'
  FROM turn, json_array_elements($1::json) AS waiting
  ON CONFLICT (id) DO NOTHING
  RETURNING seq, event`;
/** Parameters: limit. */
const selectNewest = 'SELECT seq, event FROM tool_events ORDER BY seq DESC LIMIT $1';
/** Parameters: sequence number after which events are read, limit. */
const selectLater = 'SELECT seq, event FROM tool_events WHERE seq > $1 ORDER BY seq LIMIT $2';

/** Max bytes of the events in memory. */
const maxBytes = 4_194_304;
/** Delay of an insert, so that events share statements and notifications, of which there are at most 20 a second. */
const delayMs = 50;

/**
 * Tool events of all replicas. All are in the database, the newest also in the memory of each replica, with the same ids.
 * Events of this replica, too, are read from the database. While it is unavailable, they wait.
 */
@Injectable()
export class EventHistory extends WriteBehind<Waiting> {
  /** The newest events. Its ids are valid at all replicas. */
  ring: EventRing<ToolEvent>;
  /** Sequence number of the last event in the ring. */
  private lastSeq = 0;
  /**
   * Recoveries of tools whose circuits are not closed, by tool. The probe of a circuit starts a process, which is no recovery
   * yet, so they are stored when the circuit closes.
   */
  private readonly postponedRecoveries = new Map<string, PublishedEvent>();

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    @InjectDataSource() private readonly db: DataSource,
    private readonly follower: TableFollower,
    private readonly webhooks: WebhookQueue,
    circuits: CircuitBreakers,
    source: ToolEvents,
    barrier: FleetBarrier,
  ) {
    const waiting = new TypedEvents<Waiting>(() => undefined);
    const storage = {
      insert: (events: readonly Waiting[]) => this.insert(events),
      deleteOlder: (before: Date) => db.query('DELETE FROM tool_events WHERE at < $1', [before]),
    };
    super('event history', waiting, storage, config.recorder.retentionDays, delayMs);
    const store = ({ key = newId(), ...event }: PublishedEvent): void => waiting.emit({ key, event });
    source.subscribe((event) => {
      const { type, tool } = event;
      const postponed = this.postponedRecoveries.get(tool);
      if (type.startsWith('tool.') || type === 'circuit.closed') this.postponedRecoveries.delete(tool);
      if (type === 'tool.recovered' && circuits.notClosed().includes(tool))
        this.postponedRecoveries.set(tool, event);
      else store(event);
      if (type === 'circuit.closed' && postponed) store({ ...postponed, timestamp: event.timestamp });
    });
    // The barrier makes requests wait until their events are stored.
    barrier.addWriter(() => this.flush());
    // Replaced at the start, when the epoch is known.
    this.ring = this.ringOf('');
  }

  override async onModuleInit(): Promise<void> {
    const selectEpoch = 'SELECT epoch FROM tool_events_epoch';
    const [row] = await retryAtStart(() => this.db.query<{ epoch: string }[]>(selectEpoch));
    this.ring = this.ringOf(row?.epoch ?? '');
    const rows = await retryAtStart(() => this.db.query<EventRow[]>(selectNewest, [this.config.events.kept]));
    this.append(rows.reverse());
    this.follower.follow({ table: 'tool_events', what: 'events of tools' }, () => this.readNew());
    void super.onModuleInit();
  }

  private ringOf(epoch: string): EventRing<ToolEvent> {
    return new EventRing<ToolEvent>({ maxEntries: this.config.events.kept, maxBytes }, epoch);
  }

  /** Stores events, and in the same transaction a webhook for each event and each URL of WEBHOOK_URLS. */
  private async insert(events: readonly Waiting[]): Promise<void> {
    const store = async (manager: EntityManager): Promise<Placed<ToolEvent>[]> => {
      const rows = await manager.query<EventRow[]>(insertEvents, [storableJson(events)]);
      return rows.map((row) => this.placed(row));
    };
    const { urls, types } = this.config.webhooks;
    if (urls.length === 0) await this.db.transaction(store);
    else
      await this.webhooks.sendWith(async (manager) => {
        const wanted = (await store(manager)).filter(({ type }) => types?.has(type) ?? true);
        return wanted.flatMap((event) =>
          urls.map((url) => ({ id: event.id, url, body: JSON.stringify(event), by: 'operator' as const })),
        );
      });
  }

  /** Appends events that were stored since the last read. */
  private async readNew(): Promise<void> {
    for (let found = Infinity; found > 0;) {
      const rows = await this.db.query<EventRow[]>(selectLater, [this.lastSeq, this.config.events.kept]);
      this.append(rows);
      found = rows.length;
    }
  }

  private append(rows: readonly EventRow[]): void {
    for (const row of rows) {
      this.lastSeq = Number(row.seq);
      this.ring.append(this.placed(row), this.lastSeq);
    }
  }

  /** The event with its id; events stored by an earlier version already have one. */
  private placed({ seq, event }: EventRow): Placed<ToolEvent> {
    return { id: this.ring.idBefore(Number(seq)), ...event };
  }
}
