import process from 'node:process';
import type { Writable } from 'node:stream';

/** So much is written at once: more lines would hardly make it cheaper, and it may fill the pipe. */
const gatheredChars = 16_384;

/** Writes lines to a process: those that come together, as those of all calls whose starts were recorded at once do, share one system call. */
export class LineWriter {
  /** Lines to be written when those who bring more of them have had their turn. */
  private outgoing = '';
  /** A write filled the pipe: nothing more should be written until it drains. */
  congested = false;

  constructor(private readonly stdin: () => Writable | undefined) {}

  /** Bytes, or characters, that wait to be read. */
  get waiting(): number {
    return (this.stdin()?.writableLength ?? 0) + this.outgoing.length;
  }

  write(line: string): void {
    if (this.outgoing === '') process.nextTick(() => this.flush());
    this.outgoing += line;
    if (this.outgoing.length >= gatheredChars) this.flush();
  }

  /** Writes what is left; nothing may follow. */
  end(): void {
    this.flush();
    this.stdin()?.end();
  }

  private flush(): void {
    const lines = this.outgoing;
    this.outgoing = '';
    if (lines !== '' && this.stdin()?.write(lines) === false) this.congested = true;
  }
}
