import { Controller, Get, Param, Post, Put, Query, Req } from '@nestjs/common';
import { ApiConsumes, ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { Audited } from '../../auth/audit/audited.decorator.js';
import { CurrentPrincipal } from '../../auth/principal.decorator.js';
import { Scopes } from '../../auth/scopes.decorator.js';
import { ApiProblems } from '../../common/api-problems.decorator.js';
import type { Principal } from '../../tool-contract/principal.js';
import { ApiName, ApiNotGranted } from './api-name.decorator.js';
import { ApiArchive, bundleTypes } from './bundle-body.js';
import { CustomToolView } from './custom-tool.shapes.js';
import { ToolBundlesService } from './tool-bundles.service.js';
import { BundleFilesQuery, BundleFilesView, BundleView } from './tool-bundles.shapes.js';

@ApiTags('custom-tools')
@Scopes('tools:admin')
@Audited('name')
@ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden')
@Controller('api/v1/custom-tools/:name/bundle')
export class ToolBundlesController {
  constructor(private readonly service: ToolBundlesService) {}

  @Post()
  @ApiName()
  @ApiConsumes(...bundleTypes)
  @ApiArchive()
  @ApiOperation({
    summary: 'Register a tool by its files',
    description:
      'A gzipped tar of plain files and folders, with the registration in a `tool.json` at its top. The files are kept in the database and unpacked where the tool runs, on each replica; packages that they name are installed if `BUNDLE_INSTALLS` allows it.',
  })
  @ApiCreatedResponse({ type: CustomToolView })
  @ApiNotGranted()
  @ApiProblems('conflict', 'payload_too_large', 'tool_unavailable')
  registerToolBundle(
    @Param('name') name: string,
    @Req() request: FastifyRequest,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<CustomToolView> {
    return this.service.register(name, request, userId);
  }

  @Put()
  @ApiName()
  @ApiConsumes(...bundleTypes)
  @ApiArchive()
  @ApiOperation({
    summary: "Replace a tool's files",
    description:
      'Makes a new revision, to whose files a roll-back leads back. What `tool.json` does not name stays as it is. A tool that stood on a disk runs the bundle from now on.',
  })
  @ApiOkResponse({ type: CustomToolView })
  @ApiNotGranted()
  @ApiProblems('not_found', 'conflict', 'payload_too_large', 'tool_unavailable')
  replaceToolBundle(
    @Param('name') name: string,
    @Req() request: FastifyRequest,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<CustomToolView> {
    return this.service.replace(name, request, userId);
  }

  @Get()
  @Scopes('metrics:read')
  @ApiName()
  @ApiOperation({
    summary: "Show a tool's bundle",
    description: 'Which files it runs, and what was said when its packages were installed.',
  })
  @ApiOkResponse({ type: BundleView })
  @ApiProblems('not_found')
  getToolBundle(@Param('name') name: string): Promise<BundleView> {
    return this.service.get(name);
  }

  @Get('files')
  @ApiName()
  @ApiOperation({
    summary: "Read a bundle's files",
    description:
      'As text, to be changed and sent again by `PUT`: at most 200 of them with 1 MiB in all. Packages that this server installed are left out.',
  })
  @ApiOkResponse({ type: BundleFilesView })
  @ApiProblems('not_found')
  getToolBundleFiles(
    @Param('name') name: string,
    @Query() query: BundleFilesQuery,
  ): Promise<BundleFilesView> {
    return this.service.files(name, query);
  }
}
