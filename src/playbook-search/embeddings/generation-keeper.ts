import { EmbeddingUnavailable } from '../embedding-provider.js';
import type { EmbeddingGeneration } from './embedding-generation.js';
import type { EmbeddingsRepository } from './embeddings.repository.js';

export interface GenerationSource {
  /** @throws EmbeddingUnavailable `misconfigured` */
  open(): Promise<EmbeddingGeneration>;
  /** The generation of another provider that this configuration can still ask; undefined: it cannot. */
  openFormer(providerId: string): Promise<EmbeddingGeneration | undefined>;
}

/**
 * Keeps vectors in line with the catalogue. Where the provider was changed, the generation before it serves until the
 * new one has all its vectors; then it is replaced whole.
 */
export class GenerationKeeper {
  private serving: EmbeddingGeneration | undefined;
  private wanted: EmbeddingGeneration | undefined;
  private followed: string | undefined;
  private changes = 0;
  private lookedForFormer = false;
  private trouble: string | undefined = 'indexing';

  constructor(
    private readonly source: GenerationSource,
    private readonly repository: Pick<EmbeddingsRepository, 'revision' | 'playbooks' | 'providers'>,
  ) {}

  /** What can be searched now. */
  get current(): EmbeddingGeneration | undefined {
    return this.serving;
  }

  /** Why the vectors are behind the catalogue, or those of another provider; undefined: they are not. */
  get degraded(): string | undefined {
    return this.trouble;
  }

  /** Another one after every change of what `current` finds. */
  get revision(): string {
    return `${this.serving?.provider.id ?? ''} ${this.changes}`;
  }

  /**
   * Follows the catalogue once; costs one small query when nothing has changed.
   * @throws what keeps it from that; it goes on with what it has, and where it stopped the next time
   */
  async sync(signal: AbortSignal): Promise<void> {
    try {
      const revision = await this.repository.revision();
      if (revision !== this.followed) await this.follow(signal);
      this.followed = revision;
      this.trouble = undefined;
    } catch (error) {
      this.trouble = error instanceof EmbeddingUnavailable ? error.trouble : 'database';
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.serving?.close();
    if (this.wanted !== this.serving) await this.wanted?.close();
  }

  private async follow(signal: AbortSignal): Promise<void> {
    const playbooks = await this.repository.playbooks();
    this.wanted ??= await this.source.open();
    const lacking = await this.wanted.load(playbooks);
    this.changes++;
    if (lacking.length > 0 && !this.serving) await this.fallBack(playbooks);
    // One that serves already gets its vectors one by one; another one waits until it has them all.
    await this.wanted.embed(lacking, signal);
    this.changes++;
    if (this.serving === this.wanted) return;
    const former = this.serving;
    this.serving = this.wanted;
    await former?.close();
  }

  /** Lets the provider before the present one serve meanwhile, as far as its vectors go. */
  private async fallBack(playbooks: Parameters<EmbeddingGeneration['load']>[0]): Promise<void> {
    if (this.lookedForFormer) return;
    this.lookedForFormer = true;
    for (const id of await this.repository.providers()) {
      if (id === this.wanted?.provider.id) continue;
      const former = await this.source.openFormer(id);
      if (!former) continue;
      await former.load(playbooks);
      this.serving = former;
      return;
    }
  }
}
