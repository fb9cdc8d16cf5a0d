import { Inject, Injectable } from '@nestjs/common';
import { Problem } from '../common/errors.js';
import type { Page } from '../common/page.js';
import { BUDGET_STORE, type BudgetStore, type InvestigationView } from './budget-store.js';
import type {
  InvestigationBudgetView,
  ListInvestigationsQuery,
  RaiseBudgetBody,
} from './investigations.shapes.js';

@Injectable()
export class InvestigationsService {
  constructor(@Inject(BUDGET_STORE) private readonly store: BudgetStore) {}

  /** All that is remembered is in one page, as far as it goes. */
  async list({ limit }: ListInvestigationsQuery): Promise<Page<InvestigationBudgetView>> {
    return { data: (await this.store.latest(limit)).map(toDto), nextCursor: null };
  }

  /** @throws Problem `not_found` for an investigation that was never seen or has expired */
  async view(id: string): Promise<InvestigationBudgetView> {
    const view = await this.store.view(id);
    if (!view)
      throw new Problem('not_found', `No call of an investigation ${JSON.stringify(id)} is remembered.`);
    return toDto(view);
  }

  /** @throws Problem `invalid_request` when nothing is to be changed */
  async raise(id: string, raise: RaiseBudgetBody): Promise<InvestigationBudgetView> {
    if (raise.callsPerTool === undefined && raise.tools === undefined) {
      throw new Problem('invalid_request', 'Give callsPerTool, tools or both.', {
        errors: [{ pointer: '/callsPerTool', detail: 'must be given where tools is not' }],
      });
    }
    return toDto(await this.store.raise(id, raise));
  }

  async reset(id: string): Promise<void> {
    await this.store.reset(id);
  }
}

function toDto(view: InvestigationView): InvestigationBudgetView {
  return { ...view, resetsAt: new Date(view.resetsAt).toISOString() };
}
