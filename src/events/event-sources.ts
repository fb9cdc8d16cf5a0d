import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { CircuitKind } from '../common/circuit-state.js';
import { ToolEvents, type ToolEventType } from '../common/tool-events.js';
import { CircuitEvents } from '../tool-health/circuit-events.js';
import { HealthEvents } from '../tool-health/health-events.js';

const circuitTypes: Readonly<Record<CircuitKind, ToolEventType>> = {
  open: 'circuit.opened',
  half_open: 'circuit.half_opened',
  closed: 'circuit.closed',
};

/** Says changes of circuits and grades where everything else is said. */
@Injectable()
export class EventSources implements OnModuleInit {
  constructor(
    private readonly events: ToolEvents,
    private readonly circuits: CircuitEvents,
    private readonly health: HealthEvents,
  ) {}

  onModuleInit(): void {
    this.circuits.subscribe(({ tool, from, to, reason, by, at }) =>
      this.events.say({ type: circuitTypes[to], tool, message: reason, data: { from, to, by } }, at),
    );
    this.health.subscribe(({ tool, from, to, why, at }) =>
      this.events.say({ type: 'health.changed', tool, message: why, data: { from, to } }, at),
    );
  }
}
