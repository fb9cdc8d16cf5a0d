import type { BudgetState } from '../tool-contract/call-ticket.js';

/** The rest of a budget, as response headers; the reset is in whole seconds from now. */
export function rateLimitHeaders(budget: BudgetState, now = Date.now()): Record<string, string> {
  return {
    'RateLimit-Limit': String(budget.limit),
    'RateLimit-Remaining': String(budget.remaining),
    'RateLimit-Reset': String(Math.max(0, Math.ceil((budget.resetsAt - now) / 1000))),
  };
}
