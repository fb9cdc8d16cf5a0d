import { Inject, Injectable, Logger } from '@nestjs/common';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { EmbeddingUnavailable } from '../embedding-provider.js';
import { EmbeddingGeneration } from './embedding-generation.js';
import { EmbeddingsRepository } from './embeddings.repository.js';
import type { GenerationSource } from './generation-keeper.js';
import { MemoryStore } from './memory.store.js';
import { openProvider, type ProviderKind } from './open-provider.js';
import { PgvectorStore } from './pgvector.store.js';
import type { VectorStore } from './vector-store.js';

/** As much is searched on the calls' own thread, 24,576 vectors of 512 dimensions: about 4 ms. */
const threadAboveBytes = 48 * 2 ** 20;
/** Vectors that `auto` keeps in memory, 205 MB of 512 dimensions; up to there a search in the database takes longer. */
const memoryUpTo = 100_000;

/** Providers and stores as the configuration asks for them. */
@Injectable()
export class GenerationsOfConfig implements GenerationSource {
  private readonly logger = new Logger('Embeddings');

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly dataSource: DataSource,
    private readonly repository: EmbeddingsRepository,
  ) {}

  async open(): Promise<EmbeddingGeneration> {
    const { provider } = this.config.embeddings;
    if (provider === 'lexical') throw new EmbeddingUnavailable('misconfigured', 'There is no provider');
    return this.generation(provider);
  }

  async openFormer(providerId: string): Promise<EmbeddingGeneration | undefined> {
    const kind = kinds.find((each) => providerId.startsWith(`${each}:`));
    if (!kind || !this.isConfigured(kind)) return undefined;
    const generation = await this.generation(kind);
    if (generation.provider.id === providerId) return generation;
    await generation.close();
    return undefined;
  }

  private isConfigured(kind: ProviderKind): boolean {
    const { url, model, modelDir } = this.config.embeddings;
    if (kind === 'bundled') return true;
    return kind === 'onnx' ? modelDir !== undefined : url !== undefined && model !== undefined;
  }

  private async generation(kind: ProviderKind): Promise<EmbeddingGeneration> {
    const provider = await openProvider(kind, this.config, (trouble) =>
      this.logger.warn(trouble, `the embedding model ended: ${trouble.message}`),
    );
    return new EmbeddingGeneration(provider, await this.store(provider.id), this.repository);
  }

  private async store(providerId: string): Promise<VectorStore> {
    const { index } = this.config.embeddings;
    const isLarge = index === 'auto' && (await this.repository.count()) > memoryUpTo;
    const inDatabase = isLarge || index === 'pgvector' ? await this.pgvector(providerId, index) : undefined;
    if (inDatabase) return inDatabase;
    const product = join(this.config.root, 'native', 'bin', 'product.wasm');
    return new MemoryStore({ product, threadAboveBytes });
  }

  private async pgvector(
    providerId: string,
    index: AppConfig['embeddings']['index'],
  ): Promise<VectorStore | undefined> {
    try {
      const store = await PgvectorStore.open(this.dataSource, providerId);
      if (store || index === 'auto') return store;
      throw new Error('the database has no extension `vector`');
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      if (index === 'pgvector') {
        throw new EmbeddingUnavailable('misconfigured', `EMBEDDINGS_INDEX=pgvector: ${message}`, { cause });
      }
      // There, but not for us: this user may not create it, say.
      this.logger.log(`vectors are searched in memory: pgvector is not to be had (${message})`);
      return undefined;
    }
  }
}

const kinds = ['bundled', 'onnx', 'openai'] as const satisfies readonly ProviderKind[];
