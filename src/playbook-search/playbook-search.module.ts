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
import { embeddingMetrics } from './embeddings/embedding.metrics.js';
import { EmbeddingsRepository } from './embeddings/embeddings.repository.js';
import { PlaybookEmbeddings } from './embeddings/playbook-embeddings.js';
import { GetPlaybooksTool } from './get-playbooks.tool.js';
import { PlaybookCalls } from './playbook-calls.js';
import { playbookMetrics } from './playbook.metrics.js';
import { PLAYBOOK_RANKER } from './playbook-ranker.js';
import { PLAYBOOK_SOURCE } from './playbook-source.js';
import { BlendedRanker } from './ranking/blended.ranker.js';
import { LexicalRanker } from './ranking/lexical.ranker.js';
import { PlaybookSearchController } from './rest/playbook-search.controller.js';
import { PlaybookSearchService } from './rest/playbook-search.service.js';
import { SEMANTIC_SEARCH } from './semantic-search.js';

/** How playbooks are found: the index of the catalogue, a Data Storage service, and `get_playbooks`. */
@Module({})
export class PlaybookSearchModule {
  static forRoot({ dataStorage }: AppConfig): DynamicModule {
    const found: Provider[] = dataStorage
      ? dataStorageProviders(dataStorage)
      : [CatalogueSource, { provide: PLAYBOOK_SOURCE, useExisting: CatalogueSource }];
    return {
      module: PlaybookSearchModule,
      // TypeORM closes its connections after the modules that import it.
      imports: [
        PlaybooksModule,
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
        ...playbookMetrics,
        ...dataStorageMetrics,
        GetPlaybooksTool,
        EmbeddingsRepository,
        PlaybookEmbeddings,
        { provide: SEMANTIC_SEARCH, useExisting: PlaybookEmbeddings },
        ...embeddingMetrics,
        LexicalRanker,
        BlendedRanker,
        { provide: PLAYBOOK_RANKER, useExisting: BlendedRanker },
        ...found,
      ],
    };
  }
}
