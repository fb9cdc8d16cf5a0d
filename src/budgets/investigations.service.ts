import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { DataSource } from 'typeorm';
import { principalOf, projectOf } from '../auth/principal.decorator.js';
import { invalidRequest, Problem } from '../common/errors.js';
import type { Page } from '../rest/page.js';
import {
  budgetProject,
  BudgetStore,
  type InvestigationKey,
  type InvestigationView,
  keyless,
} from './budget-store.js';
import { type Investigation, InvestigationBudget } from './investigation-budget.js';
import type {
  InvestigationBudgetView,
  ListInvestigationsQuery,
  RaiseBudgetBody,
} from './investigations.dto.js';
import { storableJson } from '../common/pg-text.js';
import { WriteBehind } from '../common/write-behind.js';
import type { AppConfig } from '../config/app-config.js';
import { retryAtStart } from '../database/transient-error.js';

@Injectable()
export class InvestigationsService {
  constructor(private readonly budgets: BudgetStore) {}

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

const delayMs = 1_000;

/** The last one of a key counts. Their order is the same for every replica: none waits in a circle. */
const upsert = `
  INSERT INTO investigations (project, investigation_id, resets_at, used_at, budget)
  SELECT DISTINCT ON (1, 2) budget #>> '{key,projectId}', budget #>> '{key,investigationId}',
         to_timestamp((budget ->> 'resetsAt')::float8 / 1000), now(), budget
  FROM json_array_elements($1::json) WITH ORDINALITY AS changed (budget, place)
  ORDER BY 1, 2, place DESC
  ON CONFLICT (project, investigation_id) DO UPDATE SET
    resets_at = excluded.resets_at, used_at = excluded.used_at, budget = excluded.budget`;

const selectLatest =
  'SELECT budget FROM investigations WHERE resets_at > now() ORDER BY used_at DESC LIMIT $1';

const withoutMaps = (investigation: Investigation) => ({
  ...investigation,
  ...{ limits: [...investigation.limits], tools: [...investigation.tools] },
});
type Row = ReturnType<typeof withoutMaps>;

/** Budgets of investigations in rows, a second behind: a restart goes on with them. */
export class InvestigationHistory extends WriteBehind<Investigation> {
  constructor(
    private readonly config: Pick<AppConfig, 'investigations'>,
    private readonly budgets: InvestigationBudget,
    private readonly db: DataSource,
  ) {
    const keeping = {
      insert: (changed: readonly Investigation[]) =>
        db.query(upsert, [storableJson(changed.map(withoutMaps))]),
      deleteOlder: () => db.query('DELETE FROM investigations WHERE resets_at <= now()'),
    };
    super('investigations', budgets.changes, keeping, 0, delayMs);
  }

  override async onModuleInit(): Promise<void> {
    const { maxTracked } = this.config.investigations;
    const read = () => this.db.query<{ budget: Row }[]>(selectLatest, [maxTracked]);
    const rows = await retryAtStart(read);
    for (const { budget } of rows.reverse())
      this.budgets.restore({ ...budget, limits: new Map(budget.limits), tools: new Map(budget.tools) });
    void super.onModuleInit();
  }
}
