import { Body, Get, Param, Post } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Problem } from '../../../base/common/errors.js';
import { ReasonQuery } from '../../../web/auth/audit/audit.dto.js';
import { Scopes } from '../../../web/auth/scopes.decorator.js';
import { CurrentPrincipal } from '../../../web/auth/principal.decorator.js';
import type { Principal } from '../../../web/contract/principal.js';
import { AnyObject, NullableText, OptionalTextList, Text } from '../../../web/rest/dto.js';
import { wrong } from '../../../web/rest/wrong-field.js';
import {
  calledName,
  isToolName,
  type McpDefinition,
  type McpReview,
  mcpToolStates,
  reviewTools,
} from '../../mcp-client/mcp-review.js';
import { fieldChanges } from '../entity/revision-content.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { CustomToolManager } from '../manager/custom-tool-manager.js';
import { RunningTools } from '../running/running-tools.js';
import { CustomToolsRepository } from '../state/custom-tools.repository.js';
import { CustomToolView } from './custom-tools.dto.js';
import { customToolView } from './custom-tool-view.js';
import { RevisionChangeView } from './tool-revisions.dto.js';
import { ApiName, CustomToolRoutes, ToolRoute } from './tool-route.decorator.js';

const definitionExample = {
  name: 'read_file',
  description: 'Reads a file',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
};

class McpToolView {
  @ApiProperty({ example: 'files__read_file', description: 'Name for agents' })
  readonly name!: string;
  @ApiProperty({ example: 'read_file', description: "The server's own name" }) readonly tool!: string;
  @ApiProperty({
    enum: mcpToolStates,
    example: 'held',
    description:
      '`callable`: listed as approved; `held`: new or changed, waits for approval; `refused`: cannot be approved; `gone`: not listed any more',
  })
  readonly state!: string;
  @ApiPropertyOptional({
    example: 'its definition changed since it was approved',
    description: 'Why it is not callable',
  })
  readonly why?: string;
  @ApiPropertyOptional({
    example: 'it is listed without its outputSchema: its outputSchema is not a valid JSON Schema',
    description: 'A fault that does not prevent calls',
  })
  readonly warning?: string;
  @AnyObject({
    required: false,
    example: definitionExample,
    description: 'The approved definition, which callers read',
  })
  readonly approved?: object;
  @AnyObject({
    required: false,
    example: definitionExample,
    description: 'The definition that the server lists, if it differs',
  })
  readonly listed?: object;
  @ApiPropertyOptional({ type: [RevisionChangeView], description: 'Changes since the approval' })
  readonly changes?: RevisionChangeView[];
}

class McpToolsView {
  @NullableText(
    '60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752',
    'SHA-256 of the list; null: no process has listed its tools yet',
  )
  readonly listHash!: string | null;
  @ApiProperty({ type: [McpToolView] }) readonly data!: McpToolView[];
}

class ApproveBody extends ReasonQuery {
  @Text(64, {
    pattern: '^[0-9a-f]{64}$',
    example: '60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752',
    description: 'Hash of the list that was read; another list is not approved',
  })
  readonly listHash!: string;
  @OptionalTextList({
    maxItems: 512,
    example: ['read_file'],
    description: "Tools to approve, by the server's names; absent: all held ones",
  })
  readonly tools?: string[];
}

/** Lists the tools of an MCP server with their states, and approves them. */
@CustomToolRoutes('/:name', 'tools:admin')
export class McpToolsController {
  constructor(
    private readonly repository: CustomToolsRepository,
    private readonly manager: CustomToolManager,
    private readonly running: RunningTools,
  ) {}

  @Get('tools')
  @Scopes('metrics:read')
  @ToolRoute(
    McpToolsView,
    "List an MCP server's tools and their states",
    'With the reason if a tool is held or refused, and the changes since its approval.',
  )
  @ApiName('files')
  async listMcpTools(@Param('name') name: string): Promise<McpToolsView> {
    const tool = await this.repository.get(name);
    assertServer(tool);
    const server = this.running.server(name);
    const reviews = server?.allReviews() ?? reviewTools(tool.definitions ?? [], undefined);
    return {
      listHash: server?.listing?.hash ?? null,
      data: reviews.map((review) => this.view(name, review)),
    };
  }

  /** @throws Problem `conflict` if the list has changed since it was read */
  @Post('approve')
  @ToolRoute(
    CustomToolView,
    'Approve the tools that an MCP server lists',
    'As a new revision. Its processes keep running.',
    'conflict',
    'tool_unavailable',
  )
  @ApiName('files')
  async approveMcpTools(
    @Param('name') name: string,
    @Body() { listHash, tools, reason }: ApproveBody,
    @CurrentPrincipal() { userId: by }: Principal,
  ): Promise<CustomToolView> {
    const edit = (tool: CustomTool): void => {
      assertServer(tool);
      const server = this.running.server(name);
      const hash = server?.listing?.hash;
      if (!server || hash === undefined)
        throw new Problem(
          'conflict',
          `No process of ${name} has listed its tools: enable it, or call it once`,
        );
      if (hash !== listHash)
        throw new Problem('conflict', `${name} lists other tools than those that were looked at: look again`);
      tool.definitions = approve(server.allReviews(), tools);
    };
    const approved = await this.manager.store({ name, edit }, { source: 'approve', by, reason });
    return customToolView(approved, this.running);
  }

  /** A tool as answers show it. One whose name belongs to another tool is refused. */
  private view(
    server: string,
    { name: tool, state, why, warning, approved, listed }: McpReview,
  ): McpToolView {
    const name = calledName(server, tool);
    const isNameTaken =
      state === 'callable' &&
      isToolName(tool) &&
      this.running.get(server) !== undefined &&
      !this.running.offered.namesOf(server).includes(name);
    const shownWhy = isNameTaken ? 'another tool has its name' : why;
    return {
      name,
      tool,
      state: isNameTaken ? 'refused' : state,
      ...(shownWhy !== undefined && { why: shownWhy }),
      ...(warning !== undefined && { warning }),
      ...(approved && { approved }),
      ...(state !== 'callable' && listed && { listed }),
      ...(state === 'held' && approved && listed && { changes: fieldChanges('', approved, listed) }),
    };
  }
}

/**
 * The new approved definitions: the listed ones of the wanted tools, and the earlier ones of the others.
 * @param wanted the server's names; undefined: all held tools
 */
function approve(reviews: readonly McpReview[], wanted: readonly string[] | undefined): McpDefinition[] {
  const held = reviews.filter(({ state }) => state === 'held');
  for (const [n, name] of (wanted ?? []).entries()) {
    const review = reviews.find((each) => each.name === name);
    if (!review?.listed)
      throw wrong(`/tools/${n}`, `cannot be approved: ${review?.why ?? 'the server does not list it'}`);
  }
  const chosen = new Set(wanted ?? held.map(({ name }) => name));
  return reviews.flatMap(({ name, approved, listed }) => {
    const definition = chosen.has(name) ? listed : approved;
    return definition ? [definition] : [];
  });
}

/** @throws Problem `invalid_request` for a tool that is no MCP server */
function assertServer({ name, protocol }: CustomTool): void {
  if (protocol !== 'mcp') throw new Problem('invalid_request', `${name} is one tool, no MCP server`);
}
