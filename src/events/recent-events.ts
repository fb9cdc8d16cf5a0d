import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { EventRing, type Placed } from '../streams/event-ring.js';
import { type ToolEvent, ToolEvents } from '../streams/tool-events.js';
import { TypedEvents } from '../common/typed-events.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';

/** An event with its id. */
export type PlacedEvent = Placed<ToolEvent>;

const maxBytes = 4_194_304;

/** The latest events in memory; EventHistory keeps them across restarts. */
@Injectable()
export class RecentEvents {
  readonly ring: EventRing<ToolEvent>;
  /** Each event once it has its id; listeners must not throw. */
  readonly placed = new TypedEvents<PlacedEvent>(() => undefined);

  constructor(@Inject(APP_CONFIG) { events: { kept } }: Pick<AppConfig, 'events'>, source: ToolEvents) {
    // No two servers give the same ids: webhooks of replicas may go to one receiver.
    const epoch = `${Date.now().toString(36)}${randomBytes(4).toString('hex')}`;
    this.ring = new EventRing<ToolEvent>({ maxEntries: kept, maxBytes }, epoch);
    source.subscribe((event) => this.placed.emit(this.ring.append(event)));
  }
}
