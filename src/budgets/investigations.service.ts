import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { principalOf, projectOf } from '../auth/principal.decorator.js';
import { Problem } from '../common/errors.js';
import type { Page } from '../rest/page.js';
import { budgetProject, type InvestigationKey, type InvestigationView, keyless } from './budget-types.js';
import { InvestigationBudget } from './investigation-budget.js';
import type {
  InvestigationBudgetView,
  ListInvestigationsQuery,
  RaiseBudgetBody,
} from './investigations.dto.js';

@Injectable()
export class InvestigationsService {
  constructor(private readonly budgets: InvestigationBudget) {}

  /** Everything that is remembered of the caller's projects, in one page. */
  list({ limit }: ListInvestigationsQuery, request: FastifyRequest): Page<InvestigationBudgetView> {
    const found = this.budgets.latest(limit, wantedBy(request));
    return { data: found.map(toDto), nextCursor: null };
  }

  /** @throws Problem `not_found` for an investigation that was never seen or has expired */
  view(id: string, request: FastifyRequest): InvestigationBudgetView {
    const view = this.budgets.view(this.keyOf(id, request));
    if (!view)
      throw new Problem('not_found', `No call of an investigation ${JSON.stringify(id)} is remembered.`);
    return toDto(view);
  }

  /** @throws Problem `invalid_request` when nothing is to be changed */
  raise(id: string, raise: RaiseBudgetBody, request: FastifyRequest): InvestigationBudgetView {
    if (raise.callsPerTool === undefined && raise.tools === undefined) {
      throw new Problem('invalid_request', 'Give callsPerTool, tools or both.', {
        errors: [{ pointer: '/callsPerTool', detail: 'must be given where tools is not' }],
      });
    }
    return toDto(this.budgets.raise(this.keyOf(id, request), raise));
  }

  reset(id: string, request: FastifyRequest): void {
    this.budgets.reset(this.keyOf(id, request));
  }

  /** An investigation of the request's project. If no project is named, one of the caller's other projects will do. */
  private keyOf(investigationId: string, request: FastifyRequest): InvestigationKey {
    const projectId = budgetProject(principalOf(request), projectOf(request));
    const own = { projectId, investigationId };
    if (this.budgets.view(own)) return own;
    const isWanted = wantedBy(request);
    const [elsewhere] = this.budgets.latest(
      1,
      (key) => key.investigationId === investigationId && isWanted(key),
    );
    return elsewhere ?? own;
  }
}

/** Investigations of the project that the request names, else of all projects of its caller. */
function wantedBy(request: FastifyRequest): (key: InvestigationKey) => boolean {
  const caller = principalOf(request);
  const own = budgetProject(caller, projectOf(request));
  if (own === keyless || request.headers['x-project-id']) return ({ projectId }) => projectId === own;
  return ({ projectId }) => !caller.projects || caller.projects.includes(projectId);
}

const toDto = ({ projectId, resetsAt, ...view }: InvestigationView): InvestigationBudgetView => ({
  ...view,
  project: projectId === keyless ? null : projectId,
  resetsAt: new Date(resetsAt).toISOString(),
});
