import { Injectable, UseGuards } from '@nestjs/common';
import { InvestigationBudgetGuard } from '../investigations/investigation-budget.guard.js';
import { ResultCache, type RunCall } from '../repetition/result-cache.js';
import type { ToolCall } from '../tool-contract/tool-call.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';

/** A call whose answer may be kept, and the way on for one whose is not. */
export interface CacheableCall extends ToolCall {
  readonly run: RunCall;
}

/**
 * The handler of tools that keep their results. What it answers costs a unit of the budget and asks no circuit; what it
 * cannot answer goes on through the gateway, which asks for no second unit.
 */
@Injectable()
export class CachedGateway {
  constructor(private readonly cache: ResultCache) {}

  @UseGuards(InvestigationBudgetGuard)
  async execute({ run, ...call }: CacheableCall): Promise<ToolOutcome> {
    if (!call.ticket.has('budget')) throw new Error('A call reaches kept results only through the door');
    return this.cache.answer(call, run);
  }
}
