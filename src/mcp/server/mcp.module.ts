import { Module } from '@nestjs/common';
import { ToolsModule } from '../../tools/tools.module.js';
import { McpController } from './mcp.controller.js';
import { McpService } from './mcp.service.js';
import { McpStreams } from './mcp-streams.js';

/** The registry as an MCP server. */
@Module({
  imports: [ToolsModule],
  controllers: [McpController],
  providers: [McpService, McpStreams],
})
export class McpModule {}
