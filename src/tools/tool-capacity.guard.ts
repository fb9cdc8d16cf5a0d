import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Refusal } from '../common/errors.js';
import { Lifecycle } from '../common/lifecycle.js';
import type { ToolCall } from '../tool-contract/tool-call.js';

/** Takes the call's slot in its tool's queue: the last guard, so that only admitted calls take one. */
@Injectable()
export class ToolCapacityGuard implements CanActivate {
  constructor(private readonly lifecycle: Lifecycle) {}

  /** @throws Refusal `shutting_down`, `queue_full` or `tool_unavailable` */
  canActivate(context: ExecutionContext): boolean {
    const { ticket, context: caller } = context.getArgByIndex<ToolCall>(0);
    ticket.admittedToQueue = true;
    if (this.lifecycle.isDraining()) {
      throw new Refusal('shutting_down', 'The server is stopping', { retryAfterMs: 5_000 });
    }
    const release = ticket.kept ? undefined : ticket.tool.takeSlot?.(caller);
    if (release) ticket.returnAtEnd(release);
    return true;
  }
}
