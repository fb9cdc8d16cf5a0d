import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import type { AppConfig } from '../config/app-config.js';
import { Tracer } from '../observability/tracing/tracer.js';
import { RepetitionModule } from '../repetition/repetition.module.js';
import { ToolMetricsModule } from '../tool-metrics/tool-metrics.module.js';
import { ToolsModule } from '../tools/tools.module.js';
import { CatalogueSource } from './catalogue-source.js';
import { dataStorageProviders } from './data-storage/data-storage.providers.js';
import { GetPlaybooksTool } from './get-playbooks.tool.js';
import { LexicalRanker } from './lexical.ranker.js';
import { PlaybookCalls } from './playbook-calls.js';
import { PlaybookCatalogueService } from './playbook-catalogue.service.js';
import { PlaybookImporter } from './playbook-importer.js';
import { PlaybookIndex } from './playbook-index.js';
import { PLAYBOOK_RANKER } from './playbook-ranker.js';
import { PLAYBOOK_SOURCE } from './playbook-source.js';
import { SHOWN_MEMORY } from './shown-memory.js';
import { tracedRanker, tracedSource } from './traced-playbooks.js';
import { PlaybooksController } from './playbooks.controller.js';
import { PlaybooksRepository } from './playbooks.repository.js';

/** The catalogue of playbooks, its search, and `get_playbooks`. */
@Module({})
export class PlaybookSearchModule {
  static forRoot({ dataStorage }: AppConfig): DynamicModule {
    const found: Provider[] = dataStorage
      ? dataStorageProviders(dataStorage)
      : [
          CatalogueSource,
          { provide: PLAYBOOK_SOURCE, inject: [CatalogueSource, Tracer], useFactory: tracedSource },
        ];
    return {
      module: PlaybookSearchModule,
      imports: [ToolsModule, ToolMetricsModule, RepetitionModule],
      controllers: [PlaybooksController],
      providers: [
        PlaybooksRepository,
        PlaybookIndex,
        PlaybookCatalogueService,
        PlaybookImporter,
        PlaybookCalls,
        GetPlaybooksTool,
        { provide: SHOWN_MEMORY, useValue: { remember: () => undefined } },
        LexicalRanker,
        { provide: PLAYBOOK_RANKER, inject: [LexicalRanker, Tracer], useFactory: tracedRanker },
        ...found,
      ],
      exports: [PlaybookCatalogueService],
    };
  }
}
