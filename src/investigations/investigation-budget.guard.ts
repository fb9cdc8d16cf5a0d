import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Refusal } from '../common/errors.js';
import type { BudgetState } from '../tool-contract/call-ticket.js';
import type { ToolCall } from '../tool-contract/tool-call.js';
import { budgetProject, BUDGET_STORE, type BudgetStore } from './budget-store.js';
import { rateLimitHeaders } from './rate-limit-headers.js';

/** Counts a call against its investigation, or refuses it. Holds no state: Nest makes an instance for each use. */
@Injectable()
export class InvestigationBudgetGuard implements CanActivate {
  constructor(@Inject(BUDGET_STORE) private readonly store: BudgetStore) {}

  /** @throws Refusal `investigation_budget_spent` */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const call = context.getArgByIndex<ToolCall>(0);
    call.ticket.budgeted = true;
    const { investigationId } = call.context;
    return call.test || !investigationId || this.spend(call, investigationId);
  }

  private async spend({ ticket, principal, context }: ToolCall, investigationId: string): Promise<boolean> {
    const { name, callsPerInvestigation } = ticket.tool.definition;
    const admission = await this.store.take({
      projectId: budgetProject(principal, context.projectId),
      investigationId,
      tool: name,
      toolLimit: callsPerInvestigation,
    });
    if (!admission.granted) throw spent(name, admission.budget);
    ticket.returnIfRefused(admission.release);
    ticket.budget = admission.budget;
    return true;
  }
}

/** A model reads this: it names no route by which the limit could be raised. */
function spent(tool: string, budget: BudgetState): Refusal {
  const detail = `Max ${budget.limit} ${tool} calls per investigation exceeded. An operator can raise the limit.`;
  return new Refusal('investigation_budget_spent', detail, { headers: rateLimitHeaders(budget) });
}
