import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { principalOf, projectOf } from '../auth/principal.decorator.js';
import { Problem } from '../common/errors.js';
import type { Page } from '../rest/page.js';
import {
  budgetProject,
  type Investigation,
  InvestigationBudget,
  type InvestigationKey,
  type InvestigationView,
  keyless,
} from './investigation-budget.js';
import type {
  InvestigationBudgetView,
  ListInvestigationsQuery,
  RaiseBudgetBody,
} from './investigations.dto.js';
import { storableJson } from '../common/pg-text.js';
import { WriteBehind } from '../common/write-behind.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';

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
@Injectable()
export class InvestigationHistory extends WriteBehind<Investigation> {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly budgets: InvestigationBudget,
    @InjectDataSource() private readonly db: DataSource,
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
    const rows = await this.db.query<{ budget: Row }[]>(selectLatest, [maxTracked]);
    for (const { budget } of rows.reverse())
      this.budgets.restore({ ...budget, limits: new Map(budget.limits), tools: new Map(budget.tools) });
    void super.onModuleInit();
  }
}
