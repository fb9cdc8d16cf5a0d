import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Scopes } from '../auth/scopes.decorator.js';
import { Replicas } from '../database/replicas.js';
import { ApiProblems } from '../rest/api-problems.decorator.js';
import { ReplicaListView, replicaView } from './replicas.dto.js';

@ApiTags('operations')
@Scopes('tools:admin')
@Controller('api/v1/replicas')
export class ReplicasController {
  constructor(private readonly replicas: Replicas) {}

  @Get()
  @ApiOperation({
    summary: 'List the replicas that serve on this database',
    description:
      'Each with its version, sandbox tier, journal and what is not well, as of its last heartbeat.',
  })
  @ApiOkResponse({ type: ReplicaListView })
  @ApiProblems('database_unavailable', 'unauthorized', 'forbidden')
  async listReplicas(): Promise<ReplicaListView> {
    const alive = await this.replicas.alive();
    return { data: alive.map((replica) => replicaView(replica, this.replicas.id)) };
  }
}
