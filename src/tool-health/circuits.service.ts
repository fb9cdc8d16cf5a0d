import { Injectable, Logger } from '@nestjs/common';
import type { CircuitOverride } from '../common/circuit-state.js';
import { CircuitBreakers, type TrackedCircuit } from './circuit-breakers.js';
import { CircuitHistory } from './circuit-history.js';
import { type ShownHistory, viewOfCircuit } from './circuit-view.js';
import type { CircuitView, OverrideCircuitBody } from './circuit.shapes.js';

const shownByDefault = 50;

/** Circuits as operators see and override them. */
@Injectable()
export class CircuitsService {
  private readonly logger = new Logger(CircuitsService.name);

  constructor(
    private readonly circuits: CircuitBreakers,
    private readonly history: CircuitHistory,
  ) {}

  /** @throws Problem `not_found` for a tool that is not registered, was not seen since the start and is not held open by hand */
  async circuitOf(tool: string, limit = shownByDefault): Promise<CircuitView> {
    const tracked = this.circuits.find(tool);
    // First: looking at the state may add the transition that time has brought about.
    tracked.breaker.current();
    return viewOfCircuit(tool, tracked.breaker, await this.shown(tool, tracked, limit));
  }

  /** Refuses every call of the tool until its circuit is closed or reset. @throws Problem `not_found` */
  open(tool: string, body: OverrideCircuitBody, caller: string): Promise<CircuitView> {
    this.circuits.find(tool).breaker.openByHand(override(body, caller, 'Opened by hand'));
    return this.circuitOf(tool);
  }

  /** @throws Problem `not_found` */
  close(tool: string, body: OverrideCircuitBody, caller: string): Promise<CircuitView> {
    this.circuits.find(tool).breaker.closeByHand(override(body, caller, 'Closed by hand'));
    return this.circuitOf(tool);
  }

  /** Closes the circuit and forgets its openings. @throws Problem `not_found` */
  reset(tool: string, body: OverrideCircuitBody, caller: string): Promise<CircuitView> {
    this.circuits.find(tool).breaker.reset(override(body, caller, 'Reset by hand'));
    return this.circuitOf(tool);
  }

  /** A circuit is shown, and obeys, also while the database is away. */
  private async shown(tool: string, { history }: TrackedCircuit, limit: number): Promise<ShownHistory> {
    try {
      return { transitions: await this.history.newest(tool, limit), complete: true };
    } catch (error) {
      this.logger.warn(error, 'the history of a circuit could not be read');
      return { transitions: history.slice(-limit), complete: false };
    }
  }
}

function override(
  { by, reason }: OverrideCircuitBody,
  caller: string,
  defaultReason: string,
): CircuitOverride {
  return { by: by ?? caller, reason: reason ?? defaultReason };
}
