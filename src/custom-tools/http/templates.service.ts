import { Inject, Injectable } from '@nestjs/common';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from '../../common/page.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import type { TemplateView } from './templates.shapes.js';

/** The folders of tools/templates, which come with the server. */
@Injectable()
export class TemplatesService {
  private readonly folder: string;

  constructor(@Inject(APP_CONFIG) { root }: Pick<AppConfig, 'root'>) {
    this.folder = join(root, 'tools', 'templates');
  }

  async list(): Promise<Page<TemplateView>> {
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
    // Below its title stands what the template is.
    const [, description = ''] = readme.split('\n\n');
    return { name, toolName: `my_${name}_tool`, description, files };
  }
}
