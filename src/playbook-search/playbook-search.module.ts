import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { AppConfig } from '../config/app-config.js';
import { ToolsModule } from '../tools/tools.module.js';
import { CatalogueSource } from './catalogue-source.js';
import { dataStorageProviders } from './data-storage/data-storage.providers.js';
import { GetPlaybooksTool } from './get-playbooks.tool.js';
import { LexicalRanker } from './ranking/lexical.ranker.js';
import { PlaybookCatalogueService } from './catalogue/playbook-catalogue.service.js';
import { PlaybookImporter } from './catalogue/playbook-importer.js';
import { PlaybookIndex } from './catalogue/playbook-index.js';
import { PlaybooksController } from './catalogue/playbooks.controller.js';
import { PlaybooksRepository } from './catalogue/playbooks.repository.js';
import { ShownPlaybooks } from './catalogue/shown/shown-playbooks.js';
import { ShownPlaybooksRepository } from './catalogue/shown/shown-playbooks.repository.js';
import { PLAYBOOK_RANKER } from './playbook-ranker.js';
import { PLAYBOOK_SOURCE } from './playbook-source.js';
import { SHOWN_MEMORY } from './shown-memory.js';

/** The catalogue of playbooks, its search, and `get_playbooks`. */
@Module({})
export class PlaybookSearchModule {
  static forRoot({ dataStorage }: AppConfig): DynamicModule {
    const found: Provider[] = dataStorage
      ? dataStorageProviders(dataStorage)
      : [{ provide: PLAYBOOK_SOURCE, useClass: CatalogueSource }];
    return {
      module: PlaybookSearchModule,
      // TypeORM closes its connections after the modules that import it: what was shown is stored by then.
      imports: [ToolsModule, TypeOrmModule.forFeature([])],
      controllers: [PlaybooksController],
      providers: [
        PlaybooksRepository,
        PlaybookIndex,
        PlaybookCatalogueService,
        PlaybookImporter,
        ShownPlaybooksRepository,
        ShownPlaybooks,
        GetPlaybooksTool,
        { provide: SHOWN_MEMORY, useExisting: ShownPlaybooks },
        { provide: PLAYBOOK_RANKER, useClass: LexicalRanker },
        ...found,
      ],
      exports: [PlaybookCatalogueService],
    };
  }
}
