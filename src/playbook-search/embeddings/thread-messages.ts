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

/** To load the model, which answers its vectors' dimensions; or the vector of a text. */
export type EmbedRequest = { readonly load: true } | { readonly text: string };
