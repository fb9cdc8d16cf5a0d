import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Scopes } from '../../auth/scopes.decorator.js';
import { ApiProblems } from '../../common/api-problems.decorator.js';
import type { Page } from '../../common/page.js';
import { TemplatePageView, type TemplateView } from './templates.shapes.js';
import { TemplatesService } from './templates.service.js';

@ApiTags('custom-tools')
@Scopes('metrics:read')
@ApiProblems('unauthorized', 'forbidden')
@Controller('api/v1/templates')
export class TemplatesController {
  constructor(private readonly service: TemplatesService) {}

  @Get()
  @ApiOperation({
    summary: 'Tools to start from, with their files',
    description:
      'As `toolkeeper tool create` writes them: the name in them, `my_<template>_tool`, is to be replaced everywhere.',
  })
  @ApiOkResponse({ type: TemplatePageView })
  listTemplates(): Promise<Page<TemplateView>> {
    return this.service.list();
  }
}
