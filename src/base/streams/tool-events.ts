import { Injectable, Logger } from '@nestjs/common';
import { TypedEvents } from '../common/typed-events.js';

/** Types of events about tools. */
export const toolEventTypes = [
  'tool.crashed',
  'tool.degraded',
  'tool.failed',
  'tool.recovered',
  'health.changed',
  'circuit.opened',
  'circuit.half_opened',
  'circuit.closed',
] as const;
export type ToolEventType = (typeof toolEventTypes)[number];

/** A change of a tool's state, for its operator. */
export interface ToolEvent {
  readonly type: ToolEventType;
  readonly tool: string;
  /** ISO 8601, UTC. */
  readonly timestamp: string;
  /** A sentence for the operator; without secrets. */
  readonly message: string;
  /** The fields for programs, by the event's type. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** An event that is not in the history yet. */
export interface PublishedEvent extends ToolEvent {
  /** A UUID. Of several events with the same key, from any replica, only the first is stored. */
  readonly key?: string;
}

/** Publishes events of tools synchronously. A listener that throws does not affect the others. */
@Injectable()
export class ToolEvents extends TypedEvents<PublishedEvent> {
  constructor() {
    const logger = new Logger(ToolEvents.name);
    super((error) => logger.error(error, 'a listener of events failed'));
  }

  /** Publishes an event. @param at time of the event, in milliseconds since the epoch */
  publish(event: Omit<PublishedEvent, 'timestamp'>, at = Date.now()): void {
    this.emit({ ...event, timestamp: new Date(at).toISOString() });
  }
}
