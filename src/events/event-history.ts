import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { storableJson } from '../common/pg-text.js';
import { WriteBehind } from '../common/write-behind.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { type PlacedEvent, RecentEvents } from './recent-events.js';

/** An event that is there already stays as it is: a batch may be written again. */
const insert = `
  INSERT INTO tool_events (id, at, event)
  SELECT event ->> 'id', (event ->> 'timestamp')::timestamptz, event FROM json_array_elements($1::json) AS event
  ON CONFLICT (id) DO NOTHING`;

/** Events of tools, durable: a restart begins with the newest of them. */
@Injectable()
export class EventHistory extends WriteBehind<PlacedEvent> {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly recent: RecentEvents,
    @InjectDataSource() private readonly db: DataSource,
  ) {
    const keeping = {
      insert: (events: readonly PlacedEvent[]) => db.query(insert, [storableJson(events)]),
      deleteOlder: (before: Date) => db.query('DELETE FROM tool_events WHERE at < $1', [before]),
    };
    super('event history', recent.placed, keeping, config.recorder.retentionDays);
  }

  override async onModuleInit(): Promise<void> {
    const newest = 'SELECT event FROM tool_events ORDER BY seq DESC LIMIT $1';
    const rows = await this.db.query<{ event: PlacedEvent }[]>(newest, [this.config.events.kept]);
    for (const { event } of rows.reverse()) this.recent.ring.append(event);
    void super.onModuleInit();
  }
}
