import { Body, Get, Param, Post } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Problem } from '../../../base/common/errors.js';
import { ReasonQuery } from '../../../web/auth/audit/audit.dto.js';
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
import { CustomToolView, customToolView } from './custom-tools.dto.js';
import { RevisionChangeView } from './tool-revisions.dto.js';
import { ApiName, CustomToolRoutes, ToolRoute } from './tool-route.decorator.js';

const definitionExample = {
  name: 'read_file',
  description: 'Reads a file',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
};

class McpToolView {
  @ApiProperty({ example: 'files__read_file', description: 'By which agents call it' })
  readonly name!: string;
  @ApiProperty({ example: 'read_file', description: 'As the server calls it' }) readonly tool!: string;
  @ApiProperty({
    enum: mcpToolStates,
    example: 'held',
    description:
      '`callable`: listed as it was approved; `held`: not so, until it is approved; `refused`: it cannot be approved; `gone`: not listed any more',
  })
  readonly state!: string;
  @ApiPropertyOptional({
    example: 'its definition changed since it was approved',
    description: 'Why it is not callable',
  })
  readonly why?: string;
  @ApiPropertyOptional({
    example: 'it is listed without its outputSchema: its outputSchema is not a valid JSON Schema',
    description: 'A fault of the tool, which can be called all the same',
  })
  readonly warning?: string;
  @AnyObject({
    required: false,
    example: definitionExample,
    description: 'What callers read, as it was approved',
  })
  readonly approved?: object;
  @AnyObject({
    required: false,
    example: definitionExample,
    description: 'What the server lists, where that differs',
  })
  readonly listed?: object;
  @ApiPropertyOptional({ type: [RevisionChangeView], description: 'What changed since it was approved' })
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
    description: 'Of the list that was looked at: another one is not approved',
  })
  readonly listHash!: string;
  @OptionalTextList({
    maxItems: 512,
    example: ['read_file'],
    description: "The server's names of those to approve; absent: all that are held",
  })
  readonly tools?: string[];
}

/** The tools of an MCP server: what became of those that were approved, and approving them again. */
@CustomToolRoutes('/:name', 'tools:admin')
export class McpToolsController {
  constructor(
    private readonly repository: CustomToolsRepository,
    private readonly manager: CustomToolManager,
    private readonly running: RunningTools,
  ) {}

  @Get('tools')
  @ToolRoute(
    McpToolsView,
    "List an MCP server's tools, and which of them can be called",
    'Those that are held back or refused say why; of one that changed since it was approved, what changed.',
  )
  @ApiName('files')
  async listMcpTools(@Param('name') name: string): Promise<McpToolsView> {
    const tool = await this.repository.get(name);
    checkServer(tool);
    const server = this.running.server(name);
    const reviews = server?.review() ?? reviewTools(tool.definitions ?? [], undefined);
    return {
      listHash: server?.listing?.hash ?? null,
      data: reviews.map((review) => this.view(name, review)),
    };
  }

  /** @throws Problem `conflict` if the list is another one than was looked at */
  @Post('approve')
  @ToolRoute(
    CustomToolView,
    'Approve the tools that an MCP server lists now',
    'As a new revision; its processes go on.',
    'conflict',
    'tool_unavailable',
  )
  @ApiName('files')
  async approveMcpTools(
    @Param('name') name: string,
    @Body() { listHash, tools }: ApproveBody,
    @CurrentPrincipal() { userId: by }: Principal,
  ): Promise<CustomToolView> {
    const edit = (tool: CustomTool): void => {
      checkServer(tool);
      const server = this.running.server(name);
      const hash = server?.listing?.hash;
      if (!server || hash === undefined)
        throw new Problem(
          'conflict',
          `No process of ${name} has listed its tools: enable it, or call it once`,
        );
      if (hash !== listHash)
        throw new Problem('conflict', `${name} lists other tools than those that were looked at: look again`);
      tool.definitions = approvedOf(server.review(), tools);
    };
    const approved = await this.manager.store({ name, edit }, { source: 'approve', by });
    return customToolView(approved, this.running);
  }

  private view(
    server: string,
    { name: tool, state, why, warning, approved, listed }: McpReview,
  ): McpToolView {
    const name = calledName(server, tool);
    const taken =
      state === 'callable' &&
      isToolName(tool) &&
      this.running.get(server) &&
      !this.running.offered.namesOf(server).includes(name);
    return {
      name,
      tool,
      state: taken ? 'refused' : state,
      ...(taken ? { why: 'another tool has its name' } : why !== undefined && { why }),
      ...(warning !== undefined && { warning }),
      ...(approved && { approved }),
      ...(state !== 'callable' && listed && { listed }),
      ...(state === 'held' && approved && listed && { changes: fieldChanges('', approved, listed) }),
    };
  }
}

/** Definitions that are approved from now on: the ones before, those that are wanted replaced by what is listed now. */
function approvedOf(reviews: readonly McpReview[], wanted: readonly string[] | undefined): McpDefinition[] {
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
function checkServer({ name, protocol }: CustomTool): void {
  if (protocol !== 'mcp') throw new Problem('invalid_request', `${name} is one tool, no MCP server`);
}
