import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Refusal } from '../common/errors.js';
import type { BudgetState } from '../tool-contract/call-ticket.js';
import type { ToolCall } from '../tool-contract/tool-call.js';
import { budgetProject, InvestigationBudget, rateLimitHeaders } from './investigation-budget.js';

/** Counts a call against its investigation, or refuses it. Holds no state: Nest makes an instance for each use. */
@Injectable()
export class InvestigationBudgetGuard implements CanActivate {
  constructor(private readonly budgets: InvestigationBudget) {}

  /** @throws Refusal `investigation_budget_spent` */
  canActivate(context: ExecutionContext): boolean {
    const call = context.getArgByIndex<ToolCall>(0);
    call.ticket.budgeted = true;
    const { investigationId } = call.context;
    return call.test || !investigationId || this.spend(call, investigationId);
  }

  private spend({ ticket, principal, context }: ToolCall, investigationId: string): boolean {
    const { name, callsPerInvestigation } = ticket.tool.definition;
    const admission = this.budgets.take({
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
