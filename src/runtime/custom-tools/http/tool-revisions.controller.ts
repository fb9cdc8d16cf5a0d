import { Body, Get, type OnModuleInit, Param, Post, Put, Query, Req } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiConsumes, ApiCreatedResponse, ApiOperation } from '@nestjs/swagger';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { CurrentPrincipal } from '../../../web/auth/principal.decorator.js';
import { ReasonQuery } from '../../../web/auth/audit/audit.dto.js';
import { Scopes } from '../../../web/auth/scopes.decorator.js';
import { ApiProblems } from '../../../web/rest/api-problems.decorator.js';
import { Problem } from '../../../base/common/errors.js';
import { keyIn, type Page, pageFrom } from '../../../web/rest/page.js';
import { PageQuery } from '../../../web/rest/dto.js';
import type { Principal } from '../../../web/contract/principal.js';
import { BundleFolders } from '../bundles/bundle-folders.js';
import { Bundles } from '../bundles/bundles.js';
import { ToolRevisionsRepository } from '../entity/tool-revisions.repository.js';
import { changesBetween } from '../entity/revision-content.js';
import { CustomToolManager } from '../manager/custom-tool-manager.js';
import { type ToolRequest, ToolPlanner } from '../manager/tool-planner.js';
import { CustomToolsRepository } from '../state/custom-tools.repository.js';
import { RunningTools } from '../running/running-tools.js';
import { CustomToolRoutes, ApiName, ApiNotGranted, ToolRoute } from './tool-route.decorator.js';
import { acceptBundles, ApiArchive, bundleTypes, uploadIn } from './bundle-body.js';
import { CustomToolView } from './custom-tools.dto.js';
import { customToolView } from './custom-tool-view.js';
import {
  BundleFilesQuery,
  BundleFilesView,
  BundleView,
  RevisionDiffQuery,
  RevisionDiffView,
  RevisionPageView,
  RevisionParams,
  revisionSummary,
  type RevisionSummaryView,
  RevisionView,
  revisionView,
  RollbackBody,
} from './tool-revisions.dto.js';

/** Routes for the revisions and bundles of custom tools. */
@CustomToolRoutes('/:name', 'metrics:read')
export class ToolRevisionsController implements OnModuleInit {
  constructor(
    private readonly repository: CustomToolsRepository,
    private readonly manager: CustomToolManager,
    private readonly planner: ToolPlanner,
    private readonly revisions: ToolRevisionsRepository,
    private readonly bundles: Bundles,
    private readonly folders: BundleFolders,
    private readonly running: RunningTools,
    private readonly http: HttpAdapterHost,
  ) {}

  onModuleInit(): void {
    acceptBundles(this.http.httpAdapter.getInstance<FastifyInstance>());
  }

  @Get('revisions')
  @ToolRoute(
    RevisionPageView,
    'List the revisions of a tool, newest first',
    'Each with its author, cause and time, and the hash of its content.',
  )
  async listCustomToolRevisions(
    @Param('name') name: string,
    @Query() { limit, cursor }: PageQuery,
  ): Promise<Page<RevisionSummaryView>> {
    const { id } = await this.repository.get(name);
    const rows = await this.revisions.list(id, limit + 1, keyIn(cursor, revisionOf));
    return pageFrom(rows.map(revisionSummary), ({ revision }) => String(revision), limit);
  }

  @Get('revisions/:revision')
  @ToolRoute(RevisionView, 'Show one revision', 'With its configuration. Revisions never change.')
  async getCustomToolRevision(@Param() { name, revision }: RevisionParams): Promise<RevisionView> {
    return revisionView(await this.revisions.get(await this.repository.get(name), revision));
  }

  @Get('revisions/:revision/diff')
  @ToolRoute(
    RevisionDiffView,
    'Show what a revision changed, field by field',
    'Compared with the revision before it, or with `against`.',
  )
  async diffCustomToolRevision(
    @Param() { name, revision }: RevisionParams,
    @Query() { against = revision - 1 }: RevisionDiffQuery,
  ): Promise<RevisionDiffView> {
    const tool = await this.repository.get(name);
    const after = await this.revisions.get(tool, revision);
    const before = against === 0 ? undefined : await this.revisions.get(tool, against);
    return { revision, against: before?.revision ?? null, changes: changesBetween(before, after) };
  }

  @Post('rollback')
  @Scopes('tools:admin')
  @ApiNotGranted()
  @ToolRoute(
    CustomToolView,
    'Restore the configuration of an earlier revision, as a new revision',
    'Takes effect like a change: calls in flight end on the revision they began with.',
    'conflict',
    'tool_unavailable',
  )
  async rollBackCustomTool(
    @Param('name') name: string,
    @Body() { revision, reason }: RollbackBody,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<CustomToolView> {
    const origin = { source: 'rollback', by: userId, restores: revision, reason } as const;
    return customToolView(await this.manager.store({ name, revision }, origin), this.running);
  }

  @Post('bundle')
  @Scopes('tools:admin')
  @ApiName()
  @ApiConsumes(...bundleTypes)
  @ApiArchive()
  @ApiOperation({
    summary: 'Register a tool by its files',
    description:
      'A gzipped tar of regular files and folders, with the registration in a `tool.json` at its top. The files are stored in the database and unpacked at each replica. They must include the packages that the tool needs.',
  })
  @ApiCreatedResponse({ type: CustomToolView })
  @ApiNotGranted()
  @ApiProblems('conflict', 'payload_too_large', 'tool_unavailable')
  async registerToolBundle(
    @Param('name') name: string,
    @Req() request: FastifyRequest,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<CustomToolView> {
    return this.store(await this.planner.requestWithBundle(name, uploadIn(request), 'create'), userId);
  }

  @Put('bundle')
  @Scopes('tools:admin')
  @ApiConsumes(...bundleTypes)
  @ApiArchive()
  @ApiNotGranted()
  @ToolRoute(
    CustomToolView,
    "Replace a tool's files",
    'Makes a new revision, whose files a rollback restores. Members that `tool.json` omits keep their values. A tool that ran files on a disk runs the bundle from then on.',
    'conflict',
    'payload_too_large',
    'tool_unavailable',
  )
  async replaceToolBundle(
    @Param('name') name: string,
    @Query() { reason }: ReasonQuery,
    @Req() request: FastifyRequest,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<CustomToolView> {
    return this.store(
      await this.planner.requestWithBundle(name, uploadIn(request), 'change'),
      userId,
      reason,
    );
  }

  @Get('bundle')
  @ToolRoute(BundleView, "Show a tool's bundle", 'The number and size of its files.')
  getToolBundle(@Param('name') name: string): Promise<BundleView> {
    return this.bundleOf(name);
  }

  @Get('bundle/files')
  @Scopes('tools:admin')
  @ToolRoute(
    BundleFilesView,
    "Read a bundle's files",
    'As text, to change and send again with `PUT`: at most 200 files, 1 MiB in all.',
  )
  async getToolBundleFiles(
    @Param('name') name: string,
    @Query() { revision }: BundleFilesQuery,
  ): Promise<BundleFilesView> {
    return this.folders.shownFiles(await this.bundleOf(name, revision));
  }

  /** The bundle of a tool's current or given revision. @throws Problem `not_found` */
  private async bundleOf(name: string, revision?: number): Promise<BundleView> {
    const tool = await this.repository.get(name);
    const { bundle = null } =
      revision === undefined ? tool : (await this.revisions.get(tool, revision)).configuration;
    if (bundle !== null) return this.bundles.get(bundle);
    throw new Problem('not_found', `${name} has no bundle: its files are stored elsewhere`);
  }

  private async store(request: ToolRequest, by: string, reason?: string): Promise<CustomToolView> {
    const stored = await this.manager.store(request, { source: 'bundle', by, reason });
    return customToolView(stored, this.running);
  }
}

/** The revision in a cursor; undefined if it is none. */
function revisionOf(key: string): number | undefined {
  const revision = Number(key);
  return Number.isInteger(revision) && revision > 0 && revision < 2 ** 31 ? revision : undefined;
}
