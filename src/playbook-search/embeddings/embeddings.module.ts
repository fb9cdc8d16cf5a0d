import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Contributors } from '../../observability/contributors.js';
import { SEMANTIC_SEARCH } from '../semantic-search.js';
import { embeddingMetrics } from './embedding.metrics.js';
import { EmbeddingsRepository } from './embeddings.repository.js';
import { PlaybookEmbeddings } from './playbook-embeddings.js';

/** Playbooks as vectors, and the search among them. */
@Module({
  // TypeORM closes its connections after the modules that import it.
  imports: [TypeOrmModule.forFeature([])],
  providers: [
    EmbeddingsRepository,
    PlaybookEmbeddings,
    { provide: SEMANTIC_SEARCH, useExisting: PlaybookEmbeddings },
    ...embeddingMetrics,
  ],
  exports: [SEMANTIC_SEARCH, PlaybookEmbeddings],
})
export class EmbeddingsModule {
  constructor(embeddings: PlaybookEmbeddings, contributors: Contributors) {
    // Never down: without vectors playbooks are searched by words.
    contributors.addHealth('embeddings', () => {
      const { provider, vectors, degraded } = embeddings.state();
      if (degraded === undefined) return { status: 'up', provider, vectors };
      return { status: 'degraded', provider, vectors, message: degraded };
    });
  }
}
