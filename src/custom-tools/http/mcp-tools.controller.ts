import { Body, Get, Param, Post } from '@nestjs/common';
import { Audited } from '../../auth/audit/audit.interceptor.js';
import { CurrentPrincipal } from '../../auth/principal.decorator.js';
import type { Principal } from '../../tool-contract/principal.js';
import { CustomToolView } from './custom-tool.dto.js';
import { ApproveBody, McpToolsView } from './mcp-tools.dto.js';
import { McpToolsService } from './mcp-tools.service.js';
import { ApiName, CustomToolRoutes, ToolRoute } from './tool-route.decorator.js';

/** The tools of an MCP server: what became of those that were approved, and approving them again. */
@CustomToolRoutes('/:name', 'tools:admin')
@Audited('name')
export class McpToolsController {
  constructor(private readonly service: McpToolsService) {}

  @Get('tools')
  @ToolRoute(
    McpToolsView,
    "List an MCP server's tools, and which of them can be called",
    'Those that are held back or refused say why; of one that changed since it was approved, what changed.',
  )
  @ApiName('files')
  listMcpTools(@Param('name') name: string): Promise<McpToolsView> {
    return this.service.list(name);
  }

  @Post('approve')
  @ToolRoute(
    CustomToolView,
    'Approve the tools that an MCP server lists now',
    'As a new revision; its processes go on.',
    'conflict',
    'tool_unavailable',
  )
  @ApiName('files')
  approveMcpTools(
    @Param('name') name: string,
    @Body() body: ApproveBody,
    @CurrentPrincipal() { userId: by }: Principal,
  ): Promise<CustomToolView> {
    return this.service.approve(name, body, by);
  }
}
