import { Controller, Get, Param, UseInterceptors } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AuditedRead } from '../auth/audit/audited.decorator.js';
import { Scopes } from '../auth/scopes.decorator.js';
import { ApiProblems } from '../common/api-problems.decorator.js';
import { PayloadView } from './payloads.shapes.js';
import { ToolMetricsService } from './tool-metrics.service.js';
import { UpToDateInterceptor } from './execution-recorder.js';

@ApiTags('tool-metrics')
@Scopes('tools:admin')
@ApiProblems('not_found', 'invalid_request', 'database_unavailable', 'unauthorized', 'forbidden')
@Controller('api/v1/tool-metrics/executions')
@UseInterceptors(UpToDateInterceptor)
export class PayloadsController {
  constructor(private readonly service: ToolMetricsService) {}

  @Get(':id/payload')
  @AuditedRead()
  @ApiOperation({
    summary: 'What an execution was given and answered',
    description:
      "Kept for tools whose `capture` is `failures` or `all`, for CAPTURE_TTL_HOURS; values of the tool's `env` are taken out.",
  })
  @ApiOkResponse({ type: PayloadView })
  getExecutionPayload(@Param('id') id: string): Promise<PayloadView> {
    return this.service.payload(id);
  }
}
