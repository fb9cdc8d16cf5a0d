const firstBytes = 1_024;

/**
 * Keeps the last `maxBytes` bytes of a stream, such as stderr, in one buffer that it fills in a circle: a flood takes no
 * memory but that, for buffers of its own for each chunk would be freed only when the collector comes round.
 */
export class ByteTail {
  private ring = Buffer.alloc(0);
  /** Where the next byte goes. */
  private next = 0;
  private length = 0;

  constructor(private readonly maxBytes: number) {}

  /** @param chunk may be written over when this returns */
  push(chunk: Buffer): void {
    // The last zero bytes are not all of them.
    const end = chunk.subarray(Math.max(0, chunk.length - this.maxBytes));
    this.makeRoom(this.length + end.length);
    const untilEdge = Math.min(end.length, this.ring.length - this.next);
    end.copy(this.ring, this.next, 0, untilEdge);
    end.copy(this.ring, 0, untilEdge);
    if (this.ring.length > 0) this.next = (this.next + end.length) % this.ring.length;
    this.length = Math.min(this.ring.length, this.length + end.length);
  }

  /** The end of what was kept, at most `maxBytes` bytes long, without white space at its end. */
  text(maxBytes = this.maxBytes): string {
    const kept = this.kept();
    return kept
      .subarray(Math.max(0, kept.length - maxBytes))
      .toString('utf8')
      .trimEnd();
  }

  /** It grows with what is written: most processes say next to nothing. */
  private makeRoom(wanted: number): void {
    if (wanted <= this.ring.length || this.ring.length >= this.maxBytes) return;
    const kept = this.kept();
    this.ring = Buffer.allocUnsafeSlow(Math.min(this.maxBytes, Math.max(firstBytes, 2 * wanted)));
    this.next = kept.copy(this.ring) % this.ring.length;
  }

  /** From the oldest to the newest. */
  private kept(): Buffer {
    const start = this.next - this.length;
    if (start >= 0) return this.ring.subarray(start, this.next);
    return Buffer.concat([this.ring.subarray(start), this.ring.subarray(0, this.next)]);
  }
}
