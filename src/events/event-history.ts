import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { storableJson } from '../common/pg-text.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { WriteBehind } from '../tool-health/write-behind.js';
import { type PlacedEvent, RecentEvents } from './recent-events.js';

/** An event that is there already stays as it is: a batch may be written again. */
const insert = `
  INSERT INTO tool_events (id, type, tool, at, message, data)
  SELECT id, type, tool, "timestamp", message, data
  FROM json_to_recordset($1::json)
    AS event (id text, type text, tool text, "timestamp" timestamptz, message text, data json)
  ON CONFLICT (id) DO NOTHING`;

const selectNewest = 'SELECT id, type, tool, at, message, data FROM tool_events ORDER BY seq DESC LIMIT $1';

type EventRow = Omit<PlacedEvent, 'timestamp'> & { readonly at: Date };

/** The newest events that were kept, oldest first. */
export async function newestEvents(db: DataSource, limit: number): Promise<PlacedEvent[]> {
  const rows = await db.query<EventRow[]>(selectNewest, [limit]);
  return rows
    .map(({ id, type, tool, at, ...more }) => ({ id, type, tool, timestamp: at.toISOString(), ...more }))
    .reverse();
}

/** Events of tools, durable: a restart reads them. */
@Injectable()
export class EventHistory extends WriteBehind<PlacedEvent> {
  constructor(
    @Inject(APP_CONFIG) { recorder }: AppConfig,
    { placed }: RecentEvents,
    @InjectDataSource() db: DataSource,
  ) {
    const keeping = {
      insert: (events: readonly PlacedEvent[]) => db.query(insert, [storableJson(events)]),
      deleteOlder: (before: Date) => db.query('DELETE FROM tool_events WHERE at < $1', [before]),
    };
    super('event history', placed, keeping, recorder.retentionDays);
  }
}
