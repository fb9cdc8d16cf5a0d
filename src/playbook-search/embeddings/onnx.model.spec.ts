import { pooled, shortened } from './onnx.model.js';

describe('shortened', () => {
  it('cuts a text in its middle: the token that closes it stays', () => {
    expect(shortened([101, 1, 2, 3, 102], 4)).toEqual([101, 1, 2, 102]);
    expect(shortened([101, 1, 102], 3)).toEqual([101, 1, 102]);
    expect(shortened([], 3)).toEqual([]);
  });
});

describe('pooled', () => {
  const tokens = { dims: [1, 2, 3], data: Float32Array.of(1, 2, 3, 5, 6, 7) };

  it('takes the first token, or the sum of all, which has the direction of their mean', () => {
    expect(pooled(tokens, 'cls')).toEqual(Float32Array.of(1, 2, 3));
    expect(pooled(tokens, 'mean')).toEqual(Float32Array.of(6, 8, 10));
  });

  it('takes what the model has pooled itself as it is', () => {
    expect(pooled({ dims: [1, 3], data: Float32Array.of(1, 2, 3) }, 'mean')).toEqual(
      Float32Array.of(1, 2, 3),
    );
  });
});
