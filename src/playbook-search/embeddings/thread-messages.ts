/** Which model the thread shall load. */
export type ModelOrder = { readonly kind: 'use-lite' } | { readonly kind: 'onnx'; readonly model: OnnxModel };

/** A model directory as its thread needs it. */
export interface OnnxModel {
  readonly directory: string;
  /** Absolute. */
  readonly modelFile: string;
  /** Absolute. */
  readonly tokenizerFile: string;
  readonly pooling: 'cls' | 'mean';
  /** Longer texts are cut. */
  readonly maxTokens: number;
}

export interface EmbedRequest {
  readonly id: number;
  readonly texts: readonly string[];
}

/** What the thread says; the vectors of one answer lie one after the other. */
export type ThreadNews =
  | { readonly loaded: { readonly dimensions: number } }
  | { readonly notLoaded: string }
  | { readonly id: number; readonly vectors: Float32Array<ArrayBuffer> }
  | { readonly id: number; readonly error: string };
