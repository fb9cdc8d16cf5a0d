import { Controller, Get, Inject } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Scopes } from '../../../web/auth/scopes.decorator.js';
import { ApiProblems } from '../../../web/rest/api-problems.decorator.js';
import type { Page } from '../../../web/rest/page.js';
import { PageOf } from '../../../web/rest/dto.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';

export class TemplateFileView {
  @ApiProperty({ example: 'tool.py' }) readonly path!: string;
  @ApiProperty({ example: '#!/usr/bin/env python3\n…' }) readonly content!: string;
}

export class TemplateView {
  @ApiProperty({ example: 'python' }) readonly name!: string;
  @ApiProperty({ example: 'my_python_tool', description: 'To be replaced in all files' })
  readonly toolName!: string;
  @ApiProperty({ example: 'A tool for Toolkeeper in Python; only the standard library is needed.' })
  readonly description!: string;
  @ApiProperty({ type: [TemplateFileView], description: '`tool.json` is the registration' })
  readonly files!: readonly TemplateFileView[];
}

export class TemplatePageView extends PageOf(TemplateView, { description: 'By name' }) {}

/** Serves the folders of tools/templates, which are part of the server. */
@ApiTags('custom-tools')
@Scopes('metrics:read')
@ApiProblems('unauthorized', 'forbidden')
@Controller('api/v1/templates')
export class TemplatesController {
  private readonly folder: string;

  constructor(@Inject(APP_CONFIG) { root }: Pick<AppConfig, 'root'>) {
    this.folder = join(root, 'tools', 'templates');
  }

  @Get()
  @ApiOperation({
    summary: 'Tools to start from, with their files',
    description:
      'The same that `toolkeeper tool create` writes. Replace their name, `my_<template>_tool`, everywhere.',
  })
  @ApiOkResponse({ type: TemplatePageView })
  async listTemplates(): Promise<Page<TemplateView>> {
    const entries = await readdir(this.folder, { withFileTypes: true });
    const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    return { data: await Promise.all(names.sort().map((name) => this.read(name))), nextCursor: null };
  }

  private async read(name: string): Promise<TemplateView> {
    const folder = join(this.folder, name);
    const entries = await readdir(folder, { withFileTypes: true });
    const paths = entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
    const files = await Promise.all(
      paths.sort().map(async (path) => ({ path, content: await readFile(join(folder, path), 'utf8') })),
    );
    const readme = files.find(({ path }) => path === 'README.md')?.content ?? '';
    // The description is the paragraph below the title.
    const [, description = ''] = readme.split('\n\n');
    return { name, toolName: `my_${name}_tool`, description, files };
  }
}
