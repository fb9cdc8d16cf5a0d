import { ApiProperty } from '@nestjs/swagger';
import { PageOf } from '../../common/shapes.js';

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
