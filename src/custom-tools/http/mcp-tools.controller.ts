import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Audited } from '../../auth/audit/audited.decorator.js';
import { CurrentPrincipal } from '../../auth/principal.decorator.js';
import { Scopes } from '../../auth/scopes.decorator.js';
import { ApiProblems } from '../../common/api-problems.decorator.js';
import type { Principal } from '../../tool-contract/principal.js';
import { ApiName } from './api-name.decorator.js';
import { CustomToolView } from './custom-tool.shapes.js';
import { McpToolsService } from './mcp-tools.service.js';
import { ApproveBody, McpToolsView } from './mcp-tools.shapes.js';

@ApiTags('custom-tools')
@Scopes('tools:admin')
@Audited('name')
@ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden', 'not_found')
@Controller('api/v1/custom-tools/:name')
export class McpToolsController {
  constructor(private readonly service: McpToolsService) {}

  @Get('tools')
  @ApiName('files')
  @ApiOperation({
    summary: "List an MCP server's tools, and which of them can be called",
    description:
      'Those that are held back or refused say why; of one that changed since it was approved, what changed.',
  })
  @ApiOkResponse({ type: McpToolsView })
  listMcpTools(@Param('name') name: string): Promise<McpToolsView> {
    return this.service.list(name);
  }

  @Post('approve')
  @HttpCode(200)
  @ApiName('files')
  @ApiOperation({
    summary: 'Approve the tools that an MCP server lists now',
    description: 'As a new revision; its processes go on.',
  })
  @ApiOkResponse({ type: CustomToolView })
  @ApiProblems('conflict', 'tool_unavailable')
  approveMcpTools(
    @Param('name') name: string,
    @Body() body: ApproveBody,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<CustomToolView> {
    return this.service.approve(name, body, userId);
  }
}
