import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { ToolCall } from '../tool-contract/tool-call.js';

/** Takes the call's place in its tool's queue: the last guard, so that only admitted calls take one. */
@Injectable()
export class ToolCapacityGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (context.getType<string>() !== 'tool') return true;
    const { ticket } = context.getArgByIndex<ToolCall>(0);
    const release = ticket.tool.reserve?.();
    if (release) ticket.returnAtEnd(release);
    return true;
  }
}
