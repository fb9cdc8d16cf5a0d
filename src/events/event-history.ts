import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { TypedEvents } from '../common/typed-events.js';
import { storableJson } from '../common/pg-text.js';
import { WriteBehind } from '../common/write-behind.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { EventRing, type Placed } from '../streams/event-ring.js';
import { type ToolEvent, ToolEvents } from '../streams/tool-events.js';

/** An event that is there already stays as it is: a batch may be written again. */
const insert = `
  INSERT INTO tool_events (id, at, event)
  SELECT event ->> 'id', (event ->> 'timestamp')::timestamptz, event FROM json_array_elements($1::json) AS event
  ON CONFLICT (id) DO NOTHING`;

/** An event with its id. */
export type PlacedEvent = Placed<ToolEvent>;

const maxBytes = 4_194_304;

/** Events of tools: the newest in memory, all of them in the database, so that a restart begins with the newest. */
@Injectable()
export class EventHistory extends WriteBehind<PlacedEvent> {
  readonly ring: EventRing<ToolEvent>;
  /** Emits each event once it has its id; listeners must not throw. */
  readonly placed: TypedEvents<PlacedEvent>;

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    @InjectDataSource() private readonly db: DataSource,
    source: ToolEvents,
  ) {
    const placed = new TypedEvents<PlacedEvent>(() => undefined);
    const keeping = {
      insert: (events: readonly PlacedEvent[]) => db.query(insert, [storableJson(events)]),
      deleteOlder: (before: Date) => db.query('DELETE FROM tool_events WHERE at < $1', [before]),
    };
    super('event history', placed, keeping, config.recorder.retentionDays);
    this.placed = placed;
    // No two servers give the same ids: webhooks of replicas may go to one receiver.
    const epoch = `${Date.now().toString(36)}${randomBytes(4).toString('hex')}`;
    this.ring = new EventRing<ToolEvent>({ maxEntries: config.events.kept, maxBytes }, epoch);
    source.subscribe((event) => placed.emit(this.ring.append(event)));
  }

  override async onModuleInit(): Promise<void> {
    const newest = 'SELECT event FROM tool_events ORDER BY seq DESC LIMIT $1';
    const rows = await this.db.query<{ event: PlacedEvent }[]>(newest, [this.config.events.kept]);
    for (const { event } of rows.reverse()) this.ring.append(event);
    void super.onModuleInit();
  }
}
