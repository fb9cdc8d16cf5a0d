import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Refusal } from '../../base/common/errors.js';
import { sanitisedText } from '../../base/common/pg-text.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { Counters, type Subject, type CountResult } from '../../base/counters/counters.js';
import type { BudgetState } from '../../web/contract/call-ticket.js';
import type { ToolCall } from '../../web/contract/tool-call.js';
import { type Principal, sharerOf } from '../../web/contract/principal.js';

/** Counts a call against its investigation's budget, or refuses it. It has no state: Nest makes an instance for each use. */
@Injectable()
export class InvestigationBudgetGuard implements CanActivate {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'investigations'>,
    private readonly counters: Counters,
  ) {}

  /** @throws Refusal `investigation_budget_spent` */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const call = context.getArgByIndex<ToolCall>(0);
    call.ticket.budgeted = true;
    const { budget } = call.principal;
    const id = budget ? callerPrefix + sharerOf(call.principal, budget).id : investigationOf(call.context);
    // An empty id is none, too. A later round of a call was counted with its first one.
    if (call.test || !id || call.asks?.round !== undefined) return true;
    const { name, callsPerInvestigation } = call.ticket.tool.definition;
    const project = budgetProject(call.principal, call.context.projectId);
    const taken = this.counters.take({
      ...subjectOf(project, id),
      name,
      limit: callsPerInvestigation,
      ttlMs: this.config.investigations.ttlMs,
    });
    return taken instanceof Promise ? taken.then((late) => admit(call, late)) : admit(call, taken);
  }
}

/** Prefix of the ids of budgets that belong to callers. */
const callerPrefix = 'caller ';
/** The id of the call's investigation, unless it looks like a caller's budget. */
const investigationOf = ({ investigationId: id }: ToolCall['context']): string | undefined =>
  id?.startsWith(callerPrefix) ? `-${id}` : id;

/** Admits a call that was counted. @throws Refusal `investigation_budget_spent` if the budget did not suffice */
function admit(
  { ticket, principal }: ToolCall,
  { granted, limit, used, resetsAt, release }: CountResult,
): true {
  const budget = { limit, remaining: Math.max(0, limit - used), resetsAt };
  if (!granted) throw budgetSpent(ticket.tool.definition.name, budget, principal);
  ticket.returnBudget = release;
  ticket.budget = limit > 0 ? budget : undefined;
  return true;
}

/** The refusal, which a model reads: it names no route by which the limit could be raised. */
function budgetSpent(tool: string, budget: BudgetState, caller: Principal): Refusal {
  const { id, who } = sharerOf(caller, caller.budget);
  const [whose, where] = caller.budget
    ? [`of ${who}`, ` of the investigation ${JSON.stringify(callerPrefix + id)}`]
    : ['per investigation', ''];
  const detail = `Max ${budget.limit} ${tool} calls ${whose} exceeded. An operator can raise the limit${where}.`;
  return new Refusal('investigation_budget_spent', detail, { headers: rateLimitHeaders(budget) });
}

/** The rest of a budget, as response headers; the reset is in whole seconds from now. */
export function rateLimitHeaders(budget: BudgetState, now = Date.now()): Record<string, string> {
  return {
    'RateLimit-Limit': String(budget.limit),
    'RateLimit-Remaining': String(budget.remaining),
    'RateLimit-Reset': String(Math.max(0, Math.ceil((budget.resetsAt - now) / 1000))),
  };
}

/** Project of the budgets of callers without a key. No real project has an empty name. */
export const keyless = '';

/** The project whose budget a caller spends. Callers without a key have their own budgets, if others have keys. */
export const budgetProject = ({ keyId, projects }: Principal, projectId: string): string =>
  keyId === undefined && projects ? keyless : projectId;

/** The subject of an investigation's counters. The same id in another project is another investigation. */
export const subjectOf = (project: string, investigationId: string): Subject => ({
  kind: 'budget',
  project: sanitisedText(project),
  subject: sanitisedText(investigationId).toWellFormed(),
});
