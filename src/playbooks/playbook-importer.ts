import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../common/errors.js';
import { StartupWork } from '../common/startup-work.js';
import { DtoPipe } from '../rest/dto.pipe.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { contentHash, PlaybookCatalogueService } from './playbook-catalogue.service.js';
import { CreatePlaybookBody } from './playbook-bodies.dto.js';
import { PlaybooksRepository } from './playbooks.repository.js';
import { yamlText, yamlToJson } from './import/yaml-documents.js';

/** Names of files. */
interface ImportReport {
  readonly imported: readonly string[];
  readonly unchanged: readonly string[];
  readonly failed: readonly { readonly file: string; readonly reason: string }[];
}

/** Reads the folder of playbooks at start: new versions are stored, known ones left as they are, bad files named. */
@Injectable()
export class PlaybookImporter implements OnApplicationBootstrap {
  private readonly logger = new Logger(PlaybookImporter.name);
  private readonly dtos = new DtoPipe();

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly repository: PlaybooksRepository,
    private readonly catalogue: PlaybookCatalogueService,
    private readonly work: StartupWork,
  ) {}

  onApplicationBootstrap(): void {
    this.work.register('playbooks', this.importAll());
  }

  /** @throws the database's error; a bad file or a missing folder is only reported */
  async importAll(): Promise<ImportReport> {
    const { dir } = this.config.playbooks;
    const stored = await this.repository.hashes();
    const report = {
      imported: [] as string[],
      unchanged: [] as string[],
      failed: [] as { file: string; reason: string }[],
    };
    for (const file of await this.filesIn(dir)) {
      try {
        const state = await this.importFile(join(dir, file), stored);
        report[state].push(file);
      } catch (error) {
        if (!(error instanceof BadFile)) throw error;
        this.logger.error(
          { file, reason: error.message },
          `playbook file ${file} not imported: ${error.message}`,
        );
        report.failed.push({ file, reason: error.message });
      }
    }
    const { imported, unchanged, failed } = report;
    this.logger.log(
      `playbooks: ${imported.length} imported, ${unchanged.length} unchanged, ${failed.length} not valid`,
    );
    return report;
  }

  private async filesIn(dir: string): Promise<string[]> {
    try {
      return (await readdir(dir)).filter((file) => /\.ya?ml$/.test(file)).sort();
    } catch (error) {
      this.logger.warn(`no playbooks imported: ${(error as Error).message}`);
      return [];
    }
  }

  private async importFile(
    path: string,
    stored: ReadonlyMap<string, string>,
  ): Promise<'imported' | 'unchanged'> {
    const playbook = await this.read(path);
    const hash = stored.get(`${playbook.playbook_id}@${playbook.version}`);
    if (hash === contentHash(playbook)) return 'unchanged';
    if (hash !== undefined) {
      throw new BadFile(
        `version ${playbook.version} is stored with other content; versions are immutable, raise it`,
      );
    }
    try {
      await this.catalogue.create(playbook, 'import');
      return 'imported';
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      // Another replica that starts now may have stored the same file first.
      const hashNow = (await this.repository.find(playbook.playbook_id, playbook.version))?.content_hash;
      if (hashNow === contentHash(playbook)) return 'unchanged';
      throw new BadFile(error.detail);
    }
  }

  private async read(path: string): Promise<CreatePlaybookBody> {
    try {
      const document: unknown = JSON.parse(yamlToJson(yamlText(await readFile(path))));
      if (typeof document !== 'object' || document === null || Array.isArray(document))
        throw new BadFile('the file holds no playbook');
      return await this.dtos.read(CreatePlaybookBody, document);
    } catch (error) {
      throw error instanceof BadFile ? error : new BadFile((error as Error).message.split('\n')[0] ?? '');
    }
  }
}

/** Why a file is no playbook. */
class BadFile extends Error {
  override readonly name = 'BadFile';
}
