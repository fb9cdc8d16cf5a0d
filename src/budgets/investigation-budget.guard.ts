import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Refusal } from '../common/errors.js';
import type { BudgetState } from '../tool-contract/call-ticket.js';
import type { ToolCall } from '../tool-contract/tool-call.js';
import { type BudgetDecision, budgetProject, BudgetStore, rateLimitHeaders } from './budget-store.js';

/** Counts a call against its investigation, or refuses it. Holds no state: Nest makes an instance for each use. */
@Injectable()
export class InvestigationBudgetGuard implements CanActivate {
  constructor(private readonly budgets: BudgetStore) {}

  /** @throws Refusal `investigation_budget_spent` */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const call = context.getArgByIndex<ToolCall>(0);
    call.ticket.budgeted = true;
    const { investigationId } = call.context;
    return call.test || !investigationId || this.spend(call, investigationId);
  }

  private spend(call: ToolCall, investigationId: string): boolean | Promise<boolean> {
    const { name, callsPerInvestigation } = call.ticket.tool.definition;
    const decision = this.budgets.take({
      projectId: budgetProject(call.principal, call.context.projectId),
      investigationId,
      tool: name,
      toolLimit: callsPerInvestigation,
    });
    return decision instanceof Promise
      ? decision.then((decided) => admit(call, decided))
      : admit(call, decision);
  }
}

function admit({ ticket }: ToolCall, decision: BudgetDecision): true {
  if (!decision.granted) throw spent(ticket.tool.definition.name, decision.budget);
  ticket.returnIfRefused(decision.release);
  ticket.budget = decision.budget;
  return true;
}

/** A model reads this: it names no route by which the limit could be raised. */
function spent(tool: string, budget: BudgetState): Refusal {
  const detail = `Max ${budget.limit} ${tool} calls per investigation exceeded. An operator can raise the limit.`;
  return new Refusal('investigation_budget_spent', detail, { headers: rateLimitHeaders(budget) });
}
