import { Inject, Injectable, Logger } from '@nestjs/common';
import { glob, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sha256 } from '../common/canonical-json.js';
import { Problem } from '../common/errors.js';
import { createValidationPipe } from '../common/validation.pipe.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import type { CustomTool } from './custom-tool.entity.js';
import { CustomToolManager } from './custom-tool-manager.js';
import { CustomToolCreate } from './custom-tools.dto.js';
import { CustomToolsRepository } from './custom-tools.repository.js';
import { portablePath } from './program-files.js';

const imported = { source: 'import', by: 'toolkeeper' } as const;

/** Brings `<dir>/<folder>/tool.json` into the database when its content is new; the row is the truth afterwards. */
@Injectable()
export class InstalledToolsImporter {
  private readonly logger = new Logger(InstalledToolsImporter.name);
  private readonly pipe = createValidationPipe();

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly repository: CustomToolsRepository,
    private readonly manager: CustomToolManager,
  ) {}

  /** One bad file is logged with its reason and never keeps the others out. */
  async importAll(): Promise<void> {
    const { dir } = this.config.customTools;
    const files: string[] = [];
    for await (const file of glob('*/tool.json', { cwd: dir })) files.push(file);
    for (const file of files.sort()) {
      await this.importFile(join(dir, file)).catch((error: unknown) => {
        const reason = error instanceof Problem || error instanceof SyntaxError ? error.message : error;
        this.logger.error({ file, err: reason }, `${file} was not imported: ${String(reason)}`);
      });
    }
  }

  private async importFile(path: string): Promise<void> {
    const content = await readFile(path, 'utf8');
    const hash = sha256(content);
    const key = portablePath(this.config.root, path);
    const importedHash = await this.repository.importedHash(key);
    if (importedHash === hash) return;
    const create = await this.parse(content, dirname(path));
    const known = await this.repository.find(create.name);
    if (known && importedHash === undefined) {
      throw new Problem('conflict', `the tool name ${create.name} was registered by somebody else`);
    }
    await (known ? this.manager.reimport(create, imported) : this.register(create));
    await this.repository.rememberImport(key, hash);
    this.logger.log(`${key} was imported as ${create.name}`);
  }

  /** An interpreter that is missing here shows as status `error` and keeps nobody waiting. */
  private async register(create: CustomToolCreate): Promise<CustomTool> {
    try {
      return await this.manager.register(create, imported);
    } catch (error) {
      const storable = create.description !== undefined && create.inputSchema !== undefined;
      if (!(error instanceof Problem) || error.code !== 'invalid_request' || !storable) throw error;
      return this.manager.registerBroken(create, error.detail, imported);
    }
  }

  private async parse(content: string, folder: string): Promise<CustomToolCreate> {
    const body = { workingDir: portablePath(this.config.root, folder), ...(JSON.parse(content) as object) };
    return (await this.pipe.transform(body, {
      type: 'body',
      metatype: CustomToolCreate,
    })) as CustomToolCreate;
  }
}
