import { sha256 } from '../../common/canonical-json.js';
import type { EmbeddingProvider } from '../embedding-provider.js';
import { middleOf, passagesOf } from '../ranking/passages.js';
import { playbookKey } from '../vector-index.js';
import type { EmbeddablePlaybook, EmbeddingsRepository, NewEmbedding } from './embeddings.repository.js';
import type { VectorStore } from './vector-store.js';

/** Playbooks that are embedded, stored and put into the index in one go. */
const slice = 8;

interface Wanted {
  readonly playbook: EmbeddablePlaybook;
  readonly key: string;
  readonly passages: readonly string[];
  readonly hash: string;
}

/** A provider and the vectors that it made: they are searched together and replaced together. */
export class EmbeddingGeneration {
  constructor(
    readonly provider: EmbeddingProvider,
    readonly store: VectorStore,
    private readonly repository: Pick<EmbeddingsRepository, 'vectors' | 'store'>,
  ) {}

  /**
   * Takes up what is stored for these playbooks and lets go of the others.
   * @returns those that are still without a vector
   */
  async load(playbooks: readonly EmbeddablePlaybook[]): Promise<readonly EmbeddablePlaybook[]> {
    const wanted = new Map(playbooks.map((playbook) => [playbookKey(playbook), wantedOf(playbook)]));
    await this.store.retain((key) => wanted.has(key));
    const lacking = [...wanted.values()].filter((each) => !this.has(each));
    const pages = this.repository.vectors(
      this.provider.id,
      lacking.map(({ playbook }) => playbook),
    );
    for await (const page of pages) {
      await this.store.put(page.filter(({ key, hash }) => wanted.get(key)?.hash === hash));
    }
    return lacking.filter((each) => !this.has(each)).map(({ playbook }) => playbook);
  }

  /**
   * Embeds playbooks; what was done before a failure stays done.
   * @throws EmbeddingUnavailable, the database's error, or the signal's reason
   */
  async embed(playbooks: readonly EmbeddablePlaybook[], signal: AbortSignal): Promise<void> {
    for (let at = 0; at < playbooks.length; at += slice) {
      const wanted = playbooks.slice(at, at + slice).map(wantedOf);
      const vectors = await this.provider.embed(
        wanted.flatMap(({ passages }) => passages),
        'document',
        signal,
      );
      let taken = 0;
      const made = wanted.map(({ playbook, key, hash, passages }): NewEmbedding & { key: string } => {
        const own = vectors.slice(taken, (taken += passages.length));
        if (own.length < passages.length)
          throw new Error(`The provider ${this.provider.id} gave no vector for ${key}`);
        return { playbook, key, hash, vector: middleOf(own) };
      });
      await this.repository.store(this.provider.id, made);
      await this.store.put(made);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.provider.close(), this.store.close()]);
  }

  private has({ key, hash }: Wanted): boolean {
    return this.store.has(key, hash);
  }
}

function wantedOf(playbook: EmbeddablePlaybook): Wanted {
  const passages = passagesOf(playbook);
  return { playbook, key: playbookKey(playbook), passages, hash: hashOf(passages) };
}

/** Of what is embedded of a playbook: another text makes another vector. */
export const hashOf = (passages: readonly string[]): string => sha256(JSON.stringify(passages));
