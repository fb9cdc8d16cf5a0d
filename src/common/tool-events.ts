import { Injectable, Logger } from '@nestjs/common';
import { TypedEvents } from './typed-events.js';

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

/** Says synchronously what happens to tools, whoever finds out; a listener that throws harms nobody. */
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
