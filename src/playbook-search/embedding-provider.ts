/** A question is embedded otherwise than the text that answers it: many models want a prefix for one of them. */
export type EmbeddingKind = 'query' | 'document';

/**
 * What a raw cosine of this provider is worth, since every model has its own scale: at or below `floor` it says nothing
 * (0), at `cut` a playbook begins to be worth showing (0.70), and 1 is 1.
 */
export interface EmbeddingCalibration {
  readonly floor: number;
  readonly cut: number;
}

/** Turns texts into vectors whose cosine says how near their meanings are. */
export interface EmbeddingProvider {
  /** Model and settings in one word: vectors are stored under it and never compared across ids. */
  readonly id: string;
  /** Of every vector; 0 while only the model knows it and has not answered yet. */
  readonly dimensions: number;
  /** False: the vectors show shared words only, nothing about meaning. */
  readonly semantic: boolean;
  readonly calibration: EmbeddingCalibration;
  /**
   * @param texts none of them blank
   * @returns one vector of length 1 for each text, in their order
   * @throws EmbeddingUnavailable when the model cannot be asked; the signal's reason when it aborts
   */
  embed(
    texts: readonly string[],
    kind: EmbeddingKind,
    signal?: AbortSignal,
  ): Promise<readonly Float32Array[]>;
  /** Frees what the provider holds; it may be used again and takes it anew. */
  close(): Promise<void>;
}

/** Why `EmbeddingUnavailable`; short enough for a metric's label. */
export type EmbeddingTrouble =
  | 'not_loaded'
  | 'queue_full'
  | 'timed_out'
  | 'worker_died'
  | 'circuit_open'
  | 'endpoint_failed'
  | 'wrong_answer'
  | 'index_full'
  | 'misconfigured';

/** Expected: a search that meets it goes on without vectors and says so. */
export class EmbeddingUnavailable extends Error {
  override readonly name = 'EmbeddingUnavailable';

  constructor(
    readonly trouble: EmbeddingTrouble,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
