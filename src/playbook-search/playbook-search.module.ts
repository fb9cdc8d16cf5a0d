import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { AppConfig } from '../config/app-config.js';
import { PlaybooksModule } from '../playbooks/playbooks.module.js';
import { RepetitionModule } from '../repetition/repetition.module.js';
import { ToolMetricsModule } from '../tool-metrics/tool-metrics.module.js';
import { ToolsModule } from '../tools/tools.module.js';
import { CatalogueFollower } from './catalogue/catalogue-follower.js';
import { CatalogueSource } from './catalogue/catalogue-source.js';
import { PlaybookIndex } from './catalogue/playbook-index.js';
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
import { PlaybookSearchController } from './rest/playbook-search.controller.js';
import { PlaybookSearchService } from './rest/playbook-search.service.js';

/** How playbooks are found: the index of the catalogue, a Data Storage service, and `get_playbooks`. */
@Module({})
export class PlaybookSearchModule {
  static forRoot({ dataStorage }: AppConfig): DynamicModule {
    const found: Provider[] = dataStorage
      ? dataStorageProviders(dataStorage)
      : [CatalogueSource, { provide: PLAYBOOK_SOURCE, useExisting: CatalogueSource }];
    return {
      module: PlaybookSearchModule,
      imports: [
        PlaybooksModule,
        EmbeddingsModule,
        ToolsModule,
        ToolMetricsModule,
        RepetitionModule,
        TypeOrmModule.forFeature([]),
      ],
      controllers: [PlaybookSearchController],
      providers: [
        PlaybookIndex,
        CatalogueFollower,
        PlaybookSearchService,
        PlaybookCalls,
        PlaybookLog,
        ...playbookMetrics,
        ...dataStorageMetrics,
        GetPlaybooksTool,
        LexicalRanker,
        BlendedRanker,
        { provide: PLAYBOOK_RANKER, useExisting: BlendedRanker },
        ...found,
      ],
    };
  }
}
