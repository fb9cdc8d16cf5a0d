/** A model in this thread. */
export interface TextModel {
  readonly dimensions: number;
  /** @returns a vector of length 1 */
  embed(text: string): Promise<Float32Array<ArrayBuffer>>;
}

/** In place. A vector of zeros stays one: its cosine with anything is 0. */
export function toUnitLength<T extends Float32Array>(vector: T): T {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  if (length > 0) for (let at = 0; at < vector.length; at++) vector[at] = (vector[at] ?? 0) / length;
  return vector;
}
