import { Controller, Get } from '@nestjs/common';
import { ApiProperty, ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal, type Principal } from '../../../web/auth/principal.decorator.js';
import { Scopes } from '../../../web/auth/scopes.decorator.js';
import { Answers } from '../../../web/rest/answers.decorator.js';
import { ApiProblems } from '../../../web/rest/api-problems.decorator.js';
import { TraceReads } from './trace-reads.js';

class ProjectsView {
  @ApiProperty({ type: [String], example: ['default', 'support'] }) readonly data!: readonly string[];
}

/** Lists projects. Its tag is `session`, because the list depends on what the caller's key may see. */
@ApiTags('session')
@ApiProblems('database_unavailable', 'unauthorized', 'forbidden')
@Controller('api/v1/projects')
export class ProjectsController {
  constructor(private readonly reads: TraceReads) {}

  @Get()
  @Scopes()
  @Answers(
    ProjectsView,
    'The projects that a caller may see',
    'Those of its key; for a key without any, each project that has spans or executions.',
  )
  async listProjects(@CurrentPrincipal() { projects }: Principal): Promise<ProjectsView> {
    return { data: projects ?? (await this.reads.projects()) };
  }
}
