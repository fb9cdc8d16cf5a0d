import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { CurrentPrincipal, type Principal } from '../../../web/auth/principal.decorator.js';
import { Scopes } from '../../../web/auth/scopes.decorator.js';
import { ApiProblems } from '../../../web/rest/api-problems.decorator.js';

class ProjectsView {
  @ApiProperty({ type: [String], example: ['default', 'support'] }) readonly data!: readonly string[];
}

/** Distinct projects of a table. PostgreSQL would read every row for DISTINCT; this takes one step in the index for each. */
const projectsIn = (project: string, from: string): string => `
  WITH RECURSIVE known AS (
    (SELECT ${project} AS project FROM ${from} ORDER BY 1 LIMIT 1)
    UNION ALL
    SELECT (SELECT ${project} FROM ${from} AND ${project} > known.project ORDER BY 1 LIMIT 1)
    FROM known WHERE known.project IS NOT NULL
  )
  SELECT project FROM known WHERE project IS NOT NULL`;
/** The same expression as in the index tool_metrics_span_by_time. */
const executionsOwn = `coalesce(metadata->>'projectId', 'default')`;
const selectProjects = `
  SELECT project FROM (${projectsIn('project', 'spans WHERE true')}) AS sent
  UNION
  SELECT project FROM (${projectsIn(executionsOwn, 'tool_metrics WHERE trace_id IS NOT NULL AND NOT is_test')}) AS ran
  ORDER BY project`;

@ApiTags('session')
@ApiProblems('database_unavailable', 'unauthorized', 'forbidden')
@Controller('api/v1/projects')
export class ProjectsController {
  constructor(@InjectDataSource() private readonly db: DataSource) {}

  @Get()
  @Scopes()
  @ApiOperation({
    summary: 'The projects that a caller may see',
    description: 'Those of its key; for a key without any, each project that has spans or executions.',
  })
  @ApiOkResponse({ type: ProjectsView })
  async listProjects(@CurrentPrincipal() { projects }: Principal): Promise<ProjectsView> {
    const rows = projects ? [] : await this.db.query<{ project: string }[]>(selectProjects);
    return { data: projects ?? rows.map(({ project }) => project) };
  }
}
