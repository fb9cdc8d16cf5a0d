import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { AppConfig } from '../config/app-config.js';
import { RepetitionModule } from '../repetition/repetition.module.js';
import { ToolMetricsModule } from '../tool-metrics/tool-metrics.module.js';
import { ToolsModule } from '../tools/tools.module.js';
import { CatalogueFollower } from './catalogue/catalogue-follower.js';
import { PlaybookImportService } from './catalogue/import/playbook-import.service.js';
import { PlaybookCatalogueService } from './catalogue/playbook-catalogue.service.js';
import { PlaybookChangesRepository } from './catalogue/playbook-changes.repository.js';
import { PlaybookImporter } from './catalogue/playbook-importer.js';
import { PlaybookIndex } from './catalogue/playbook-index.js';
import { PlaybookOutcomesRepository } from './catalogue/playbook-outcomes.repository.js';
import { PlaybookSearchService } from './catalogue/playbook-search.service.js';
import { PlaybookVersionsController } from './catalogue/playbook-versions.controller.js';
import { PlaybookVersionsService } from './catalogue/playbook-versions.service.js';
import { PlaybooksController } from './catalogue/playbooks.controller.js';
import { PlaybooksRepository } from './catalogue/playbooks.repository.js';
import { ShownPlaybooks } from './catalogue/shown/shown-playbooks.js';
import { ShownPlaybooksRepository } from './catalogue/shown/shown-playbooks.repository.js';
import { CatalogueSource } from './catalogue-source.js';
import { dataStorageMetrics } from './data-storage/data-storage.metrics.js';
import { dataStorageProviders } from './data-storage/data-storage.providers.js';
import { EmbeddingsModule } from './embeddings/embeddings.module.js';
import { GetPlaybooksTool } from './get-playbooks.tool.js';
import { PlaybookCalls } from './playbook-calls.js';
import { PlaybookLog } from './playbook-log.js';
import { playbookMetrics } from './playbook.metrics.js';
import { PLAYBOOK_RANKER } from './playbook-ranker.js';
import { PLAYBOOK_SOURCE } from './playbook-source.js';
import { BlendedRanker } from './ranking/blended.ranker.js';
import { LexicalRanker } from './ranking/lexical.ranker.js';
import { SHOWN_MEMORY } from './shown-memory.js';

/** The catalogue of playbooks, its search, and `get_playbooks`. */
@Module({})
export class PlaybookSearchModule {
  static forRoot({ dataStorage }: AppConfig): DynamicModule {
    const found: Provider[] = dataStorage
      ? dataStorageProviders(dataStorage)
      : [CatalogueSource, { provide: PLAYBOOK_SOURCE, useExisting: CatalogueSource }];
    return {
      module: PlaybookSearchModule,
      // TypeORM closes its connections after the modules that import it: what was shown is stored by then.
      imports: [
        EmbeddingsModule,
        ToolsModule,
        ToolMetricsModule,
        RepetitionModule,
        TypeOrmModule.forFeature([]),
      ],
      controllers: [PlaybooksController, PlaybookVersionsController],
      providers: [
        PlaybooksRepository,
        PlaybookChangesRepository,
        PlaybookOutcomesRepository,
        PlaybookIndex,
        CatalogueFollower,
        PlaybookCatalogueService,
        PlaybookSearchService,
        PlaybookVersionsService,
        PlaybookImportService,
        PlaybookImporter,
        ShownPlaybooksRepository,
        ShownPlaybooks,
        PlaybookCalls,
        PlaybookLog,
        ...playbookMetrics,
        ...dataStorageMetrics,
        GetPlaybooksTool,
        { provide: SHOWN_MEMORY, useExisting: ShownPlaybooks },
        LexicalRanker,
        BlendedRanker,
        { provide: PLAYBOOK_RANKER, useExisting: BlendedRanker },
        ...found,
      ],
      exports: [PlaybookCatalogueService],
    };
  }
}
