import type { EmbeddingCalibration, EmbeddingKind, EmbeddingProvider } from '../embedding-provider.js';
import type { EmbeddingThread } from './embedding-thread.js';

export interface ThreadModel {
  readonly id: string;
  readonly calibration: EmbeddingCalibration;
  /** What the model wants before a text. */
  readonly prefixes?: Readonly<Record<EmbeddingKind, string>>;
}

/** A model on this machine, in its thread. */
export class ThreadProvider implements EmbeddingProvider {
  readonly semantic = true;

  constructor(
    private readonly model: ThreadModel,
    private readonly thread: EmbeddingThread,
  ) {}

  get id(): string {
    return this.model.id;
  }

  get calibration(): EmbeddingCalibration {
    return this.model.calibration;
  }

  get dimensions(): number {
    return this.thread.dimensions;
  }

  embed(
    texts: readonly string[],
    kind: EmbeddingKind,
    signal?: AbortSignal,
  ): Promise<readonly Float32Array[]> {
    const prefix = this.model.prefixes?.[kind] ?? '';
    return this.thread.embed(
      texts.map((text) => prefix + text),
      kind,
      signal,
    );
  }

  close(): Promise<void> {
    return this.thread.close();
  }
}
