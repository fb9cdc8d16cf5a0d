import { Injectable, Logger } from '@nestjs/common';
import type { CircuitChange } from './breaker/circuit-state.js';
import { TypedEvents } from '../common/typed-events.js';

/** A change of a tool's circuit; `id` is a UUIDv7, `at` milliseconds since 1970. */
export interface CircuitTransition extends CircuitChange {
  readonly id: string;
  readonly tool: string;
}

/** Says every change of a circuit, synchronously; a listener that throws fails no call. */
@Injectable()
export class CircuitEvents extends TypedEvents<CircuitTransition> {
  constructor() {
    const logger = new Logger(CircuitEvents.name);
    super((error) => logger.error(error, 'a listener of circuits failed'));
  }
}
