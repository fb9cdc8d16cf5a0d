import { Injectable } from '@nestjs/common';
import { Problem } from '../../common/errors.js';
import { type McpDefinition, type McpReview, mcpToolName, reviewTools } from '../../mcp/client/mcp-review.js';
import { wrong } from '../../rest/wrong-field.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { fieldChanges } from '../entity/revision-content.js';
import { CustomToolManager } from '../manager/custom-tool-manager.js';
import { RunningTools } from '../running/running-tools.js';
import { type CustomToolView, customToolView } from './custom-tool.dto.js';
import type { ApproveBody, McpToolsView, McpToolView } from './mcp-tools.dto.js';

/** The tools of an MCP server: the state of those that were approved, and a new approval. */
@Injectable()
export class McpToolsService {
  constructor(
    private readonly manager: CustomToolManager,
    private readonly running: RunningTools,
  ) {}

  /** @throws Problem `not_found`, `invalid_request` for a tool that is no MCP server */
  async list(name: string): Promise<McpToolsView> {
    const tool = await this.manager.get(name);
    checkServer(tool);
    const server = this.running.server(name);
    const reviews = server?.review() ?? reviewTools(tool.definitions ?? [], undefined);
    return {
      listHash: server?.listing?.hash ?? null,
      data: reviews.map((review) => this.view(name, review)),
    };
  }

  /**
   * Approves what the server lists now, as a new revision.
   * @throws Problem `conflict` if that is not the list that was looked at, `invalid_request` with the tool
   */
  async approve(name: string, { listHash, tools }: ApproveBody, by: string): Promise<CustomToolView> {
    const approved = await this.manager.change(name, { source: 'approve', by }, (tool) => {
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
    });
    return customToolView(approved, this.running);
  }

  private view(
    server: string,
    { name: tool, state, why, warning, approved, listed }: McpReview,
  ): McpToolView {
    const name = mcpToolName(server, tool);
    const taken = state === 'callable' && this.running.get(server) && !this.running.offers(server, name);
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

function checkServer({ name, protocol }: CustomTool): void {
  if (protocol !== 'mcp') throw new Problem('invalid_request', `${name} is one tool, no MCP server`);
}
