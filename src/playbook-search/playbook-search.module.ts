import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import type { AppConfig } from '../config/app-config.js';
import { ToolsModule } from '../tools/tools.module.js';
import { CatalogueSource } from './catalogue-source.js';
import { dataStorageProviders } from './data-storage/data-storage.providers.js';
import { GetPlaybooksTool } from './get-playbooks.tool.js';
import { LexicalRanker } from './lexical.ranker.js';
import { PlaybookCatalogueService } from './playbook-catalogue.service.js';
import { PlaybookImporter } from './playbook-importer.js';
import { PlaybookIndex } from './playbook-index.js';
import { PLAYBOOK_RANKER } from './playbook-ranker.js';
import { PLAYBOOK_SOURCE } from './playbook-source.js';
import { SHOWN_MEMORY } from './shown-memory.js';
import { PlaybooksController } from './playbooks.controller.js';
import { PlaybooksRepository } from './playbooks.repository.js';

/** The catalogue of playbooks, its search, and `get_playbooks`. */
@Module({})
export class PlaybookSearchModule {
  static forRoot({ dataStorage }: AppConfig): DynamicModule {
    const found: Provider[] = dataStorage
      ? dataStorageProviders(dataStorage)
      : [{ provide: PLAYBOOK_SOURCE, useClass: CatalogueSource }];
    return {
      module: PlaybookSearchModule,
      imports: [ToolsModule],
      controllers: [PlaybooksController],
      providers: [
        PlaybooksRepository,
        PlaybookIndex,
        PlaybookCatalogueService,
        PlaybookImporter,
        GetPlaybooksTool,
        { provide: SHOWN_MEMORY, useValue: { remember: () => undefined } },
        { provide: PLAYBOOK_RANKER, useClass: LexicalRanker },
        ...found,
      ],
      exports: [PlaybookCatalogueService],
    };
  }
}
