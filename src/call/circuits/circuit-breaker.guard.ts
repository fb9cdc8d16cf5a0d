import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Refusal } from '../../base/common/errors.js';
import type { ToolCall } from '../../web/contract/tool-call.js';
import { CircuitBreakers } from './circuit-breakers.js';

/** Refuses calls of a tool whose circuit is open. */
@Injectable()
export class CircuitBreakerGuard implements CanActivate {
  constructor(private readonly circuits: CircuitBreakers) {}

  /** @throws Refusal `circuit_open` */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const call = context.getArgByIndex<ToolCall>(0);
    call.ticket.circuitPassed = true;
    // A cached answer does not reach the tool; a test call checks whether the tool works again.
    if (call.test || call.ticket.cachedAnswer !== undefined) return true;
    return this.pass(call);
  }

  /** Asks the circuit. @param isDecided whether the replica that probes has just been chosen */
  private pass(call: ToolCall, isDecided = false): boolean | Promise<boolean> {
    const { ticket } = call;
    const { name } = ticket.tool.definition;
    const admission = this.circuits.admit(name, ticket.executionId);
    switch (admission.kind) {
      case 'pass':
        return true;
      case 'probe':
        ticket.probe = true;
        ticket.releaseProbe = admission.release;
        return true;
      case 'refuse': {
        const { reason, retryAfterMs } = admission;
        const decision = isDecided ? undefined : this.circuits.decideProber(name);
        if (decision) return decision.then(() => this.pass(call, true));
        throw new Refusal('circuit_open', `${name} is cut off: ${reason}`, { retryAfterMs });
      }
    }
  }
}
