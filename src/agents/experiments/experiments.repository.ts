import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { storableJson, sanitisedText } from '../../base/common/pg-text.js';
import type { Listed } from '../../records/spans/reads/trace-views.dto.js';
import type {
  ExperimentSettings,
  ExperimentView,
  ListedExperimentView,
  ListExperimentsQuery,
  Original,
  RunEnd,
} from './experiments.dto.js';

/** A stored experiment, with the call with which it is compared. */
export interface Experiment extends ExperimentView, Original {}

/** Computes the settings to change from the stored experiment. */
type ChangesOf = (experiment: Experiment) => Partial<ExperimentSettings>;

/** The id of an experiment's last run; null if none was started. */
interface LastRun {
  readonly run_id: string | null;
}

/** Seconds after which a run counts as dead: longer than any run may take. */
const maxRunSeconds = 90;
/** SQL: whether the run's server has ended before the run, and whether a run is in progress. */
const isDead = `status = 'running' AND run_started_at < now() - interval '${maxRunSeconds} seconds'`;
const isRunning = `status = 'running' AND NOT (${isDead})`;
const deadRunError = 'The server ended before the run did';

/** Columns of `ListedExperimentView`, and those of `Experiment`. */
const listColumns = `
  id, name, description, original_span_id, original_trace_id, created_at, updated_at,
  CASE WHEN ${isDead} THEN 'failed' ELSE status END AS status,
  CASE WHEN ${isDead} THEN '${deadRunError}' ELSE error END AS error`;
const allColumns = `
  ${listColumns}, project AS project_id, thread_id, original_request, original_result, modified_request, headers,
  prompt_variables, model_parameters, result`;

/** Columns of the request. Changing one makes the result of the last run obsolete. */
const requestColumns = ['modified_request', 'headers', 'prompt_variables', 'model_parameters'] as const;
/** SQL: forgets the last run. */
const resetRun = `status = 'draft', result = NULL, error = NULL`;

/** SQL: whether an experiment belongs to the project $1 and was made from the span $2, if that is not null. */
const isOfSpan = 'project = $1 AND ($2::text IS NULL OR original_span_id = $2)';

/** A value for a column; objects become JSON. */
const columnValue = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? storableJson(value) : value;

/** Rows of `experiments`; every query names its project. Ids must be UUIDs. */
@Injectable()
export class ExperimentsRepository {
  constructor(@InjectDataSource() private readonly db: DataSource) {}

  async create(id: string, project: string, experiment: ExperimentSettings & Original): Promise<void> {
    const fields = Object.entries({ id, project, ...experiment });
    await this.db.query(
      `INSERT INTO experiments (${fields.map(([name]) => name).join(', ')})
       VALUES (${fields.map((_, index) => `$${index + 1}`).join(', ')})`,
      fields.map(([, value]) => columnValue(value)),
    );
  }

  /** The number of a project's experiments. @param spanId the original span; null: any */
  async count(project: string, spanId: string | null): Promise<number> {
    const sql = `SELECT count(*)::int AS total FROM experiments WHERE ${isOfSpan}`;
    const [row] = await this.db.query<{ total: number }[]>(sql, [project, spanId]);
    return row?.total ?? 0;
  }

  /** Experiments of a project, newest first. @param spanId the original span; null: any */
  async list(
    project: string,
    spanId: string | null,
    { limit, offset }: ListExperimentsQuery,
  ): Promise<Listed<ListedExperimentView>> {
    const [data, total] = await Promise.all([
      this.db.query<ListedExperimentView[]>(
        `SELECT ${listColumns} FROM experiments WHERE ${isOfSpan} ORDER BY created_at DESC, id LIMIT $3 OFFSET $4`,
        [project, spanId, limit, offset],
      ),
      this.count(project, spanId),
    ]);
    return { data, pagination: { offset, limit, total } };
  }

  /** Finds an experiment; undefined if the project has no such experiment. */
  async find(project: string, id: string): Promise<Experiment | undefined> {
    const [row] = await this.db.query<Experiment[]>(
      `SELECT ${allColumns} FROM experiments WHERE project = $1 AND id = $2`,
      [project, id],
    );
    return row;
  }

  /** Changes an experiment; a changed request makes it a draft again. @returns false if there is none, or it runs */
  change(project: string, id: string, changesOf: ChangesOf): Promise<boolean> {
    return this.db.transaction(async (sql) => {
      const select = `SELECT ${allColumns} FROM experiments WHERE project = $1 AND id = $2 AND NOT (${isRunning}) FOR UPDATE`;
      const [experiment] = await sql.query<Experiment[]>(select, [project, id]);
      if (!experiment) return false;
      const changes = changesOf(experiment);
      const fields = Object.entries(changes);
      const assignments = ['updated_at = now()', ...fields.map(([name], index) => `${name} = $${index + 2}`)];
      if (requestColumns.some((name) => changes[name] !== undefined)) assignments.push(resetRun);
      const values = [id, ...fields.map(([, value]) => columnValue(value))];
      await sql.query(`UPDATE experiments SET ${assignments.join(', ')} WHERE id = $1`, values);
      return true;
    });
  }

  /** Deletes an experiment. @returns its last run; undefined if there was no such experiment */
  async delete(project: string, id: string): Promise<LastRun | undefined> {
    const [rows] = await this.db.query<[LastRun[], number]>(
      'DELETE FROM experiments WHERE project = $1 AND id = $2 RETURNING run_id',
      [project, id],
    );
    return rows[0];
  }

  /** Marks a run as started. @returns the experiment; undefined if there is none, or it runs already */
  async begin(project: string, id: string, runId: string): Promise<Experiment | undefined> {
    const [rows] = await this.db.query<[Experiment[], number]>(
      `UPDATE experiments
       SET status = 'running', run_id = $3, run_started_at = now(), result = NULL, error = NULL, updated_at = now()
       WHERE project = $1 AND id = $2 AND NOT (${isRunning})
       RETURNING ${allColumns}`,
      [project, id, runId],
    );
    return rows[0];
  }

  /** Stores the end of a run, unless it was cancelled or another run began meanwhile. */
  async end(id: string, runId: string, end: RunEnd): Promise<void> {
    const [result, error] =
      end.status === 'completed' ? [storableJson(end.result), null] : [null, sanitisedText(end.error)];
    await this.db.query(
      `UPDATE experiments SET status = $3, result = $4, error = $5, updated_at = now()
       WHERE id = $1 AND run_id = $2 AND status = 'running'`,
      [id, runId, end.status, result, error],
    );
  }

  /** Cancels the run. @returns that run; undefined if the experiment does not run */
  async cancel(project: string, id: string): Promise<LastRun | undefined> {
    const [rows] = await this.db.query<[LastRun[], number]>(
      `UPDATE experiments SET status = 'failed', error = 'The run was cancelled', updated_at = now()
       WHERE project = $1 AND id = $2 AND ${isRunning}
       RETURNING run_id`,
      [project, id],
    );
    return rows[0];
  }
}
