import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { principalOf, projectOf } from '../auth/principal.decorator.js';
import { invalidRequest, Problem } from '../common/errors.js';
import type { Page } from '../rest/page.js';
import { budgetProject, Budgets, type InvestigationKey, type InvestigationView, keyless } from './budgets.js';
import type {
  InvestigationBudgetView,
  ListInvestigationsQuery,
  RaiseBudgetBody,
} from './investigations.dto.js';

@Injectable()
export class InvestigationsService {
  constructor(private readonly budgets: Budgets) {}

  /** Everything that is remembered of the caller's projects, in one page. */
  async list(
    { limit }: ListInvestigationsQuery,
    request: FastifyRequest,
  ): Promise<Page<InvestigationBudgetView>> {
    const found = await this.budgets.latest(limit, { projects: projectsOf(request) });
    return { data: found.map(toDto), nextCursor: null };
  }

  /** @throws Problem `not_found` for an investigation that was never seen or has expired */
  async view(id: string, request: FastifyRequest): Promise<InvestigationBudgetView> {
    const view = await this.find(ownKey(id, request), request);
    if (!view)
      throw new Problem('not_found', `No call of an investigation ${JSON.stringify(id)} is remembered.`);
    return toDto(view);
  }

  /** @throws Problem `invalid_request` when nothing is to be changed */
  async raise(id: string, raise: RaiseBudgetBody, request: FastifyRequest): Promise<InvestigationBudgetView> {
    if (raise.callsPerTool === undefined && raise.tools === undefined) {
      throw new Problem('invalid_request', 'Give callsPerTool, tools or both.', {
        errors: [{ pointer: '/callsPerTool', detail: 'must be given where tools is not' }],
      });
    }
    if (raise.tools && Object.hasOwn(raise.tools, ''))
      throw invalidRequest({ pointer: '/tools/', detail: 'must be the name of a tool' });
    const own = ownKey(id, request);
    return toDto(await this.budgets.raise((await this.find(own, request)) ?? own, raise));
  }

  async reset(id: string, request: FastifyRequest): Promise<void> {
    const own = ownKey(id, request);
    await this.budgets.reset((await this.find(own, request)) ?? own);
  }

  /** An investigation of the request's project. If no project is named, one of the caller's other projects will do. */
  private async find(
    { projectId, investigationId }: InvestigationKey,
    request: FastifyRequest,
  ): Promise<InvestigationView | undefined> {
    const [own] = await this.budgets.latest(1, { projects: [projectId], investigationId });
    if (own) return own;
    const [elsewhere] = await this.budgets.latest(1, { projects: projectsOf(request), investigationId });
    return elsewhere;
  }
}

const ownKey = (investigationId: string, request: FastifyRequest): InvestigationKey => ({
  projectId: budgetProject(principalOf(request), projectOf(request)),
  investigationId,
});

/** The project that the request names, else all projects of its caller. @returns undefined: any project */
function projectsOf(request: FastifyRequest): readonly string[] | undefined {
  const caller = principalOf(request);
  const own = budgetProject(caller, projectOf(request));
  return own === keyless || request.headers['x-project-id'] ? [own] : caller.projects;
}

const toDto = ({ projectId, resetsAt, lastCallAt, ...view }: InvestigationView): InvestigationBudgetView => ({
  ...view,
  lastCallAt: lastCallAt === undefined ? null : new Date(lastCallAt).toISOString(),
  project: projectId === keyless ? null : projectId,
  resetsAt: new Date(resetsAt).toISOString(),
});
