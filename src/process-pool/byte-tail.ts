/** Keeps the last `maxBytes` bytes of a stream, such as stderr. */
export class ByteTail {
  private chunks: Buffer[] = [];
  private bytes = 0;

  constructor(private readonly maxBytes: number) {}

  /** @param chunk may be written over when this returns */
  push(chunk: Buffer): void {
    const end = Buffer.from(chunk.subarray(-this.maxBytes));
    this.chunks.push(end);
    this.bytes += end.length;
    let surplus = 0;
    for (const oldest of this.chunks) {
      if (this.bytes - oldest.length < this.maxBytes) break;
      this.bytes -= oldest.length;
      surplus++;
    }
    if (surplus > 0) this.chunks.splice(0, surplus);
  }

  /** The end of what was kept, at most `maxBytes` bytes long, without white space at its end. */
  text(maxBytes = this.maxBytes): string {
    const kept = Buffer.concat(this.chunks);
    return kept
      .subarray(Math.max(0, kept.length - Math.min(maxBytes, this.maxBytes)))
      .toString('utf8')
      .trimEnd();
  }
}
