import { sanitisedText } from '../../base/common/pg-text.js';
import type { Subject } from '../../base/counters/counters.js';
import type { BudgetState } from '../../web/contract/call-ticket.js';
import type { Principal } from '../../web/contract/principal.js';

/** The rest of a budget, as response headers; the reset is in whole seconds from now. */
export function rateLimitHeaders(budget: BudgetState, now = Date.now()): Record<string, string> {
  return {
    'RateLimit-Limit': String(budget.limit),
    'RateLimit-Remaining': String(budget.remaining),
    'RateLimit-Reset': String(Math.max(0, Math.ceil((budget.resetsAt - now) / 1000))),
  };
}

/** Stands in for the project of callers without a key; no project has an empty name. */
export const keyless = '';

/** The project that a caller spends for. Callers without a key, where others have one, have budgets of their own. */
export const budgetProject = ({ keyId, projects }: Principal, projectId: string): string =>
  keyId === undefined && projects ? keyless : projectId;

/** An investigation is its project's: the same id in another project is another investigation. */
export const subjectOf = (project: string, investigationId: string): Subject => ({
  ...{ kind: 'budget', project: sanitisedText(project) },
  subject: sanitisedText(investigationId).toWellFormed(),
});
