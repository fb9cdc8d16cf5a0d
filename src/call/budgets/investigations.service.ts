import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { FastifyRequest } from 'fastify';
import type { DataSource } from 'typeorm';
import { invalidRequest, Problem } from '../../base/common/errors.js';
import { storableJson } from '../../base/common/pg-text.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { Counters, type Subject } from '../../base/counters/counters.js';
import { principalOf, projectOf, projectsOf } from '../../web/auth/principal.decorator.js';
import type { Tool } from '../../web/contract/tool.js';
import type { ProjectQuery } from '../../web/rest/dto.js';
import type { Page } from '../../web/rest/page.js';
import { budgetProject, keyless, subjectOf } from './investigation-budget.guard.js';
import type * as dto from './investigations.dto.js';

/** The count of one tool in an investigation. */
interface CounterRow {
  /** Name of the tool; empty for the limit of all tools. */
  readonly name: string;
  readonly used: number;
  /** Limit that an operator has set for the investigation. */
  readonly setLimit: number | null;
  /** The tool's own limit at its last call. */
  readonly toolLimit: number | null;
}

/** The counters of one investigation. */
interface InvestigationRow {
  readonly project: string;
  readonly investigationId: string;
  readonly resetsAt: Date;
  readonly lastCallAt: Date | null;
  readonly counters: readonly CounterRow[];
}

/** Parameters: projects or null, id or null, limit. */
const selectLatest = `
  SELECT project, subject AS "investigationId", min(resets_at) AS "resetsAt",
    max(used_at) FILTER (WHERE used > 0) AS "lastCallAt",
    json_agg(json_build_object('name', name, 'used', used, 'setLimit', set_limit, 'toolLimit', own_limit)) AS counters
  FROM call_counters
  WHERE kind = 'budget' AND resets_at > now()
    AND ($1::text[] IS NULL OR project = ANY ($1)) AND ($2::text IS NULL OR subject = $2)
  GROUP BY project, subject
  ORDER BY max(used_at) DESC
  LIMIT $3`;

/** Parameters: project, id, limits by tool (an empty name: default of the investigation), milliseconds until it ends. */
const setLimits = `
  INSERT INTO call_counters AS c (kind, project, subject, name, set_limit, resets_at, used_at)
  SELECT 'budget', $1, $2, key, value::int, coalesce((
           SELECT min(resets_at) FROM call_counters
           WHERE kind = 'budget' AND project = $1 AND subject = $2 AND resets_at > now()
         ), now() + $4::float8 * interval '1 millisecond'), now()
  FROM json_each_text($3::json)
  ORDER BY key
  ON CONFLICT (kind, project, subject, name) DO UPDATE SET
    set_limit = excluded.set_limit,
    used = CASE WHEN c.resets_at > now() THEN c.used ELSE 0 END,
    resets_at = CASE WHEN c.resets_at > now() THEN c.resets_at ELSE excluded.resets_at END`;

/** Parameters: project, id. Locks rows in the same order as the other statements, to avoid deadlocks. */
const deleteCounters = `
  WITH locked AS (
    SELECT name FROM call_counters WHERE kind = 'budget' AND project = $1 AND subject = $2 ORDER BY name FOR UPDATE
  )
  DELETE FROM call_counters WHERE kind = 'budget' AND project = $1 AND subject = $2 AND name IN (SELECT name FROM locked)`;

/** Shows and changes the budgets of investigations. A change applies to all replicas before it is answered. */
@Injectable()
export class InvestigationsService {
  /** The tool of a name, which has the limit of now. Set by the module of tools, because this room cannot import it. */
  toolOf: ((name: string) => Pick<Tool, 'definition'> | undefined) | undefined;

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'investigations'>,
    private readonly counters: Counters,
    @InjectDataSource() private readonly db: DataSource,
  ) {}

  /** The latest investigations of the caller's projects, in one page. */
  async list(
    { limit }: dto.ListInvestigationsQuery,
    request: FastifyRequest,
  ): Promise<Page<dto.InvestigationBudgetView>> {
    return { data: await this.latest(limit, listedIn(request)), nextCursor: null };
  }

  /** The budget of an investigation. @throws Problem `not_found` if it is unknown or has expired */
  async view(id: string, request: FastifyRequest): Promise<dto.InvestigationBudgetView> {
    const view = await this.find(id, request);
    if (view) return view;
    throw new Problem('not_found', `No call of an investigation ${JSON.stringify(id)} is remembered.`);
  }

  /** Sets limits; the counts stay. @throws Problem `invalid_request` without a limit to set */
  async raise(
    id: string,
    { callsPerTool, tools }: dto.RaiseBudgetBody,
    request: FastifyRequest,
  ): Promise<dto.InvestigationBudgetView> {
    if (callsPerTool === undefined && tools === undefined) {
      const errors = [{ pointer: '/callsPerTool', detail: 'must be given if tools is not' }];
      throw new Problem('invalid_request', 'Give callsPerTool, tools or both.', { errors });
    }
    if (tools && Object.hasOwn(tools, ''))
      throw invalidRequest({ pointer: '/tools/', detail: 'must be the name of a tool' });
    const limits = { ...tools, ...(callsPerTool !== undefined && { '': callsPerTool }) };
    const subject = await this.subjectFor(id, request);
    const { ttlMs } = this.config.investigations;
    await this.db.query(setLimits, [subject.project, subject.subject, storableJson(limits), ttlMs]);
    const view = await this.view(id, request);
    this.counters.applyLimits?.(subject, limits, Date.parse(view.resetsAt));
    return view;
  }

  /** Deletes an investigation's counts and own limits. */
  async reset(id: string, request: FastifyRequest): Promise<void> {
    const subject = await this.subjectFor(id, request);
    await this.db.query(deleteCounters, [subject.project, subject.subject]);
    this.counters.forget?.(subject);
  }

  /** The investigation of the request's project, or else of another project of its caller. */
  private async find(id: string, request: FastifyRequest): Promise<dto.InvestigationBudgetView | undefined> {
    const project = projectIn(request);
    const [found] = await this.latest(1, [project], id);
    if (found || project === keyless) return found;
    return (await this.latest(1, listedIn(request), id))[0];
  }

  /** The counters to change. Also sets the request's project, which the audit log records. */
  private async subjectFor(id: string, request: FastifyRequest): Promise<Subject> {
    const found = await this.find(id, request);
    const project = found ? (found.project ?? keyless) : projectIn(request);
    request.project = project;
    return subjectOf(project, id);
  }

  /**
   * The budgets of the latest investigations, newest first, without expired ones.
   * @param projects undefined: all projects
   */
  private async latest(
    limit: number,
    projects: readonly string[] | undefined,
    id?: string,
  ): Promise<dto.InvestigationBudgetView[]> {
    await this.counters.store?.();
    const subject = id === undefined ? null : subjectOf('', id).subject;
    const rows = await this.db.query<InvestigationRow[]>(selectLatest, [projects ?? null, subject, limit]);
    return rows.map((row) => this.viewOf(row));
  }

  /** A tool's limit is, in this order: the one set for the investigation, the tool's own, the default. */
  private viewOf(row: InvestigationRow): dto.InvestigationBudgetView {
    const { project, investigationId, resetsAt, lastCallAt, counters } = row;
    const callsPerTool =
      counters.find(({ name }) => name === '')?.setLimit ?? this.config.investigations.callsPerTool;
    const tools = counters
      .filter(({ name }) => name !== '')
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, used, setLimit, toolLimit }) => {
        const tool = this.toolOf?.(name);
        const ownLimit = tool ? tool.definition.callsPerInvestigation : toolLimit;
        const limit = setLimit ?? ownLimit ?? callsPerTool;
        return { tool: name, limit, used, remaining: limit > 0 ? Math.max(0, limit - used) : null };
      });
    return {
      investigationId,
      project: project === keyless ? null : project,
      callsPerTool,
      tools,
      resetsAt: resetsAt.toISOString(),
      lastCallAt: lastCallAt?.toISOString() ?? null,
    };
  }
}

/** The project of the request's investigation. An empty project means callers without a key. */
function projectIn(request: FastifyRequest): string {
  const principal = principalOf(request);
  const { project } = request.query as ProjectQuery;
  return project === '' && !principal.projects ? keyless : budgetProject(principal, projectOf(request));
}

/** The projects whose investigations the caller may list; undefined for all projects. */
function listedIn(request: FastifyRequest): readonly string[] | undefined {
  // For callers without a key, the project makes no difference.
  const isKeyless = budgetProject(principalOf(request), '*') === keyless;
  return isKeyless ? [keyless] : projectsOf(request);
}
