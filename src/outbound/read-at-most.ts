const firstBytes = 16_384;

/**
 * The beginning of a stream, in one piece. What comes is copied together at once: a server may send each byte by itself,
 * and a list of them would take a hundred times as much.
 * @returns `whole`: it had no more than `maxBytes`; a stream that has more is ended
 */
export async function readAtMost(
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<{ readonly body: Buffer; readonly whole: boolean }> {
  let kept = Buffer.alloc(firstBytes);
  let size = 0;
  for await (const bytes of stream) {
    if (size + bytes.length > maxBytes) {
      const rest = bytes.subarray(0, maxBytes - size);
      return { body: Buffer.concat([kept.subarray(0, size), rest]), whole: false };
    }
    if (size + bytes.length > kept.length)
      kept = Buffer.concat([kept], Math.max(2 * kept.length, size + bytes.length));
    kept.set(bytes, size);
    size += bytes.length;
  }
  return { body: kept.subarray(0, size), whole: true };
}
