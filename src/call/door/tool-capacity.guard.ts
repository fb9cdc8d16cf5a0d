import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Refusal } from '../../base/common/errors.js';
import { Lifecycle } from '../../base/common/lifecycle.js';
import { Replicas } from '../../base/database/replicas.js';
import type { ToolCall } from '../../web/contract/tool-call.js';

/** Takes the call's slot in its tool's queue: the last guard, so that only admitted calls take one. */
@Injectable()
export class ToolCapacityGuard implements CanActivate {
  constructor(
    private readonly lifecycle: Lifecycle,
    private readonly replicas: Replicas,
  ) {}

  /** @throws Refusal `shutting_down`, `queue_full` or `tool_unavailable` */
  canActivate(context: ExecutionContext): boolean {
    const call = context.getArgByIndex<ToolCall>(0);
    const { ticket } = call;
    ticket.admittedToQueue = true;
    if (this.lifecycle.isDraining()) {
      throw new Refusal('shutting_down', 'The server is stopping', { retryAfterMs: 5_000 });
    }
    try {
      if (!ticket.kept) ticket.slot = ticket.tool.takeSlot?.(call);
      return true;
    } catch (error) {
      throw error instanceof Refusal && error.details.retryElsewhere ? this.elsewhere(error) : error;
    }
  }

  /** Another replica may be able to run the call at once. */
  private elsewhere({ code, detail, details }: Refusal): Refusal {
    const retryElsewhere = this.replicas.count > 1;
    return new Refusal(code, detail, {
      ...details,
      retryElsewhere,
      ...(retryElsewhere && { retryAfterMs: 0 }),
    });
  }
}
