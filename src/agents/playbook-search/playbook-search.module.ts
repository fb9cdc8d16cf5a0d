import { type DynamicModule, Inject, Module, Optional, type Provider } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { Tracer } from '../../base/observability/tracing/tracer.js';
import { PlaybooksModule } from '../playbooks/playbooks.module.js';
import { ShownPlaybooks } from '../playbooks/shown/shown-playbooks.js';
import { RepetitionModule } from '../../call/repetition/repetition.module.js';
import { ToolMetricsModule } from '../../records/executions/tool-metrics.module.js';
import { ToolRegistry } from '../../call/door/tool-registry.js';
import { ToolsModule } from '../../call/door/tools.module.js';
import { CatalogueFollower, PlaybookIndex } from './catalogue/playbook-index.js';
import { DataStorageClient } from './data-storage/data-storage-client.js';
import { dataStorageMetrics, dataStorageProviders } from './data-storage/data-storage.providers.js';
import { getContextTool, getPlaybooksTool } from './playbook-tools.js';
import { embeddingMetrics } from './embeddings/embedding.metrics.js';
import { EmbeddingsRepository } from './embeddings/embeddings.repository.js';
import { PlaybookEmbeddings } from './embeddings/playbook-embeddings.js';
import { PlaybookCalls, playbookMetrics } from './playbook-calls.js';
import { PLAYBOOK_SOURCE, type PlaybookSource } from './playbook-source.js';
import { BlendedRanker } from './ranking/blended.ranker.js';
import { LexicalRanker } from './ranking/lexical.ranker.js';
import { PlaybookSearchController } from './rest/playbook-search.controller.js';

/** Search for playbooks: the index of the catalogue, a Data Storage service, and `get_playbooks`. */
@Module({})
export class PlaybookSearchModule {
  constructor(
    registry: ToolRegistry,
    @Inject(PLAYBOOK_SOURCE) source: PlaybookSource,
    shown: ShownPlaybooks,
    tracer: Tracer,
    @Inject(APP_CONFIG) { playbooks }: AppConfig,
    @Optional() dataStorage?: DataStorageClient,
  ) {
    registry.register(getPlaybooksTool(source, shown, tracer, playbooks.cacheTtlMs));
    if (dataStorage) registry.register(getContextTool(dataStorage, playbooks.cacheTtlMs));
  }

  static forRoot({ dataStorage }: AppConfig): DynamicModule {
    const sourceProviders: Provider[] = dataStorage
      ? dataStorageProviders(dataStorage)
      : [{ provide: PLAYBOOK_SOURCE, useExisting: PlaybookIndex }];
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
        PlaybookCalls,
        ...playbookMetrics,
        ...dataStorageMetrics,
        EmbeddingsRepository,
        PlaybookEmbeddings,
        ...embeddingMetrics,
        LexicalRanker,
        BlendedRanker,
        ...sourceProviders,
      ],
    };
  }
}
