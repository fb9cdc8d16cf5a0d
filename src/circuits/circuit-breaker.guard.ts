import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Refusal } from '../common/errors.js';
import type { ToolCall } from '../tool-contract/tool-call.js';
import { CircuitBreakers } from './circuit-breakers.js';

/** Refuses calls of a tool that is failing. Holds no state: the circuits do. */
@Injectable()
export class CircuitBreakerGuard implements CanActivate {
  constructor(private readonly circuits: CircuitBreakers) {}

  /** @throws Refusal `circuit_open` */
  canActivate(context: ExecutionContext): boolean {
    const call = context.getArgByIndex<ToolCall>(0);
    call.ticket.circuitPassed = true;
    // A cached answer asks nothing of the tool; a trial by an operator is for finding out whether it works again.
    if (!call.test && !call.ticket.kept) this.pass(call);
    return true;
  }

  private pass({ ticket }: ToolCall): void {
    const { name } = ticket.tool.definition;
    const admission = this.circuits.admit(name, ticket.executionId);
    switch (admission.kind) {
      case 'pass':
        return;
      case 'probe':
        ticket.probe = true;
        ticket.returnAtEnd(admission.release);
        return;
      case 'refuse': {
        const { reason, retryAfterMs } = admission;
        throw new Refusal('circuit_open', `${name} is cut off: ${reason}`, { retryAfterMs });
      }
    }
  }
}
