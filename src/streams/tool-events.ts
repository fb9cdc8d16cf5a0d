import { Injectable, Logger } from '@nestjs/common';
import { TypedEvents } from '../common/typed-events.js';

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

/** Something that happened to a tool and that its operator may want to hear of. */
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

/** Publishes the events of tools synchronously, from all rooms; a listener that throws fails no other. */
@Injectable()
export class ToolEvents extends TypedEvents<ToolEvent> {
  constructor() {
    const logger = new Logger(ToolEvents.name);
    super((error) => logger.error(error, 'a listener of events failed'));
  }

  /** It happens now, unless a time is given (milliseconds since 1970). */
  say(event: Omit<ToolEvent, 'timestamp'>, at = Date.now()): void {
    this.emit({ ...event, timestamp: new Date(at).toISOString() });
  }
}
