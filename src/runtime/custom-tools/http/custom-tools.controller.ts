import { Body, Delete, Get, HttpCode, Param, Patch, Post, Query, Req, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CurrentPrincipal } from '../../../web/auth/principal.decorator.js';
import { ReasonQuery } from '../../../web/auth/audit/audit.dto.js';
import { Scopes } from '../../../web/auth/scopes.decorator.js';
import { Replicas } from '../../../base/database/replicas.js';
import { ApiProblems } from '../../../web/rest/api-problems.decorator.js';
import { type Page, pageOf } from '../../../web/rest/page.js';
import type { Principal } from '../../../web/contract/principal.js';
import { ApiExecute } from '../../../call/door/tools.dto.js';
import { CustomToolRoutes, ApiName, ApiNotGranted, ToolRoute } from './tool-route.decorator.js';
import {
  CustomToolHealthView,
  CustomToolPageView,
  CustomToolView,
  ListCustomToolsQuery,
  ValidationView,
} from './custom-tools.dto.js';
import { acrossReplicas, customToolView } from './custom-tool-view.js';
import { type CustomTool } from '../entity/custom-tool.entity.js';
import { CustomToolCreate, CustomToolUpdate } from '../entity/tool-settings.js';
import { FirstListing } from '../manager/first-listing.js';
import { Reconciler } from '../manager/reconciler.js';
import { type ExecuteAnswer, ToolsService } from '../../../call/door/tools.service.js';
import { ToolStates } from '../state/tool-states.js';
import { CustomToolManager, reloadOrigin, type SavedTool } from '../manager/custom-tool-manager.js';
import { CustomToolsRepository } from '../state/custom-tools.repository.js';
import { ToolInspector } from '../launch/tool-inspector.js';
import { RunningTools } from '../running/running-tools.js';

/** Registers, changes, lists and checks custom tools. */
@CustomToolRoutes('', 'tools:admin')
export class CustomToolsController {
  constructor(
    private readonly repository: CustomToolsRepository,
    private readonly inspector: ToolInspector,
    private readonly manager: CustomToolManager,
    private readonly reconciler: Reconciler,
    private readonly tools: ToolsService,
    private readonly running: RunningTools,
    private readonly states: ToolStates,
    private readonly replicas: Replicas,
    private readonly firstListing: FirstListing,
  ) {}

  @Get()
  @Scopes('metrics:read')
  @ApiOperation({
    summary: 'List all custom tools',
    description: 'Including disabled and broken ones; `status` filters.',
  })
  @ApiOkResponse({ type: CustomToolPageView })
  async listCustomTools(
    @Query() { status, limit, cursor }: ListCustomToolsQuery,
  ): Promise<Page<CustomToolView>> {
    const tools = await this.repository.list(status);
    const { data, nextCursor } = pageOf(tools, (tool) => tool.name, limit, cursor);
    const listView = (tool: CustomTool): CustomToolView => {
      const { metadata: _large, tools: _many, ...view } = customToolView(tool, this.running);
      return view;
    };
    const troubles = await this.states.troubles();
    return { data: data.map((tool) => acrossReplicas(listView(tool), troubles)), nextCursor };
  }

  @Post()
  @ApiOperation({
    summary: 'Register an executable as a tool',
    description:
      'The executable is started and must answer `initialize` before anything is stored. Its answer supplies the version, description and input schema that the request omits. The tool can be called as soon as this answers.',
  })
  @ApiCreatedResponse({ type: CustomToolView })
  @ApiNotGranted()
  @ApiProblems('conflict', 'payload_too_large', 'tool_unavailable')
  async registerCustomTool(
    @Body() body: CustomToolCreate,
    @CurrentPrincipal() author: Principal,
  ): Promise<CustomToolView> {
    const origin = { source: 'register', by: author.userId } as const;
    return this.savedView(await this.manager.store({ create: body }, origin), author);
  }

  @Get(':name')
  @Scopes('metrics:read')
  @ToolRoute(
    CustomToolView,
    'Get custom tool details',
    'With its status and reason, its effective sandbox tier, and the restrictions that are not enforced. Values of `env` are never shown.',
  )
  async getCustomTool(@Param('name') name: string): Promise<CustomToolView> {
    const view = customToolView(await this.repository.get(name), this.running);
    return acrossReplicas(view, await this.states.troubles(name));
  }

  @Patch(':name')
  @ApiNotGranted()
  @ToolRoute(
    CustomToolView,
    'Update custom tool',
    'Changes the given fields only, as a new revision. Calls in flight end on the old one, later calls start on the new one.',
    'conflict',
    'tool_unavailable',
  )
  async updateCustomTool(
    @Param('name') name: string,
    @Body() body: CustomToolUpdate,
    @Query() { reason }: ReasonQuery,
    @CurrentPrincipal() author: Principal,
  ): Promise<CustomToolView> {
    const origin = { source: 'patch', by: author.userId, reason } as const;
    return this.savedView(await this.manager.store({ name, changes: body }, origin), author);
  }

  @Delete(':name')
  @HttpCode(204)
  @ApiName()
  @ApiOperation({
    summary: 'Unregister custom tool',
    description:
      'Calls in flight end first. A tool from a tool.json file is registered again only if that file changes.',
  })
  @ApiNoContentResponse({ description: 'Tool removed' })
  @ApiProblems('not_found')
  removeCustomTool(@Param('name') name: string): Promise<void> {
    return this.manager.remove(name);
  }

  @Post(':name/enable')
  @ApiNotGranted()
  @ToolRoute(
    CustomToolView,
    'Make a tool callable',
    'Starts its processes; a tool with status `error` is tried again.',
    'tool_unavailable',
  )
  async enableCustomTool(@Param('name') name: string): Promise<CustomToolView> {
    return customToolView(await this.manager.store({ name, enables: true }, reloadOrigin), this.running);
  }

  @Post(':name/disable')
  @ToolRoute(
    CustomToolView,
    'Make a tool uncallable, but keep its registration',
    'Calls in flight end; later ones are refused with `tool_not_found`.',
  )
  async disableCustomTool(@Param('name') name: string): Promise<CustomToolView> {
    return customToolView(await this.manager.disable(name), this.running);
  }

  @Post(':name/validate')
  @ToolRoute(
    ValidationView,
    'Validate tool executable and schema',
    'Starts the executable once and compares its answer with the registration. Changes nothing.',
    'tool_unavailable',
  )
  async validateCustomTool(@Param('name') name: string): Promise<ValidationView> {
    return this.inspector.validate(await this.repository.get(name));
  }

  @Get(':name/health')
  @Scopes('metrics:read')
  @ToolRoute(
    CustomToolHealthView,
    'Get tool health status',
    'The state of its processes, and the result of the last health check.',
  )
  getCustomToolHealth(@Param('name') name: string): Promise<CustomToolHealthView> {
    return this.reconciler.check(name);
  }

  @Post(':name/test')
  @HttpCode(200)
  @ApiName()
  @ApiOperation({
    summary: 'Execute tool with test input',
    description:
      'Also runs an inactive or cut-off tool; spends no budget and feeds neither grade nor circuit.',
  })
  @ApiExecute(
    { input: { text: '2026-01-23T10:30:00Z ERROR disk full\n2026-01-23T10:30:01Z INFO retry' } },
    'not_found',
  )
  testCustomTool(
    @Param('name') name: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ExecuteAnswer> {
    return this.tools.test((work) => this.manager.withTool(name, undefined, work), request, reply);
  }

  /** The answer to a registration or a change. */
  private async savedView(stored: SavedTool, author: Principal): Promise<CustomToolView> {
    const hasAccounts = stored.credentials === 'user';
    const tool = hasAccounts ? await this.firstListing.approveForAuthor(stored, author) : stored;
    const warnings = [...(tool.warnings ?? [])];
    // A server behind a URL keeps its state there.
    if (tool.protocol === 'mcp' && tool.url === null)
      warnings.push(...(await replicaWarnings(this.replicas)));
    return { ...customToolView(tool, this.running), ...(warnings.length > 0 && { warnings }) };
  }
}

/** Warnings for an operator who saves a tool that may keep state, if there are several replicas. */
async function replicaWarnings(replicas: Pick<Replicas, 'alive'>): Promise<string[]> {
  const { length } = await replicas.alive().catch(() => []);
  if (length < 2) return [];
  const warning =
    `Each of the ${length} replicas runs this MCP server for itself, with a memory of its own. If it keeps state between ` +
    'calls, pin its callers to one replica at the balancer, in haproxy with "balance hdr(x-session-id)"';
  return [warning];
}
