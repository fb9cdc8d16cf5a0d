import type { JsonObject } from '../common/json.js';
import { LineBudget } from './line-budget.js';
import { LineFramer } from './line-framer.js';
import type { Conversation } from './conversation.js';
import type { LaunchedProcess, OutputStream } from './launcher.js';
import { MessageReader } from './message-reader.js';
import type { PoolFailureReason, ProcessLimits, ProcessOutput } from './pool.types.js';

const noiseChars = 500;
/** A line, and each KiB, is one unit of work; so many in one turn of the event loop take well under a millisecond. */
const unitsPerTurn = 128;
const unitBytes = 1_024;
/** While no request is open a process has nothing to say: what it writes then counts so many times more. */
const idleFactor = 10;
/** Free lines beside each answer, such as an empty one or a few of a log. */
const freeLines = 10;
/** A process is ended when it has written this much of its budget too much, in milliseconds. */
const mostOverMs = 10_000;
/** Turns of the event loop without output after which an ended process has nothing more in its pipes. */
const quietTurns = 2;
/** A grandchild that goes on writing must not hold an ended process for ever. */
const maxTurns = 1_024;

/** Ends the process for what it wrote; nothing more is read. */
type Abort = (cause: 'output' | 'flood', reason: PoolFailureReason, message: string) => void;

/**
 * Reads what a process writes and bounds what that may cost: the work of one turn of the event loop, and by a budget for
 * each second all that answers no request. A process far over its budget is ended. Answers are free, for there is one to
 * each request, and so is stderr while one is open.
 */
export class OutputReader {
  private readonly framer: LineFramer;
  private readonly messages: MessageReader;
  private readonly stdout: PacedStream;
  private readonly stderr: PacedStream;
  private readonly budget: LineBudget;
  /** The end of stderr. */
  readonly tail: ByteTail;
  /** Lines to be charged to the budget when the chunk is read; fewer than none are given back. */
  private owed = 0;
  private isLast = false;
  /** Since this was last looked at. */
  private hasRead = false;
  /** The last line that was no message, and when it came (performance.now()). */
  private lastNoise = { line: '', at: -Infinity };

  constructor(
    { stdout, stderr }: LaunchedProcess,
    private readonly limits: ProcessLimits,
    private readonly conversation: Conversation,
    private readonly say: (output: ProcessOutput) => void,
    private readonly abort: Abort,
  ) {
    const { maxLineBytes, linesPerSecond, stderrBytes } = limits;
    this.budget = new LineBudget(linesPerSecond);
    this.tail = new ByteTail(stderrBytes);
    const overflow = (): void =>
      this.end('output', 'output_too_large', `The tool's answer is over ${maxLineBytes} bytes`);
    this.messages = new MessageReader(maxLineBytes, {
      message: (message, bytes, text) => this.message(message, bytes, text),
      noise: (text, lines, bytes) => this.noise(text, lines, bytes),
      // A process that has ended has crashed, whatever stands in its last line.
      broken: (text, why) => !this.isLast && this.conversation.broken(text, why),
      overflow,
    });
    this.framer = new LineFramer(maxLineBytes, { line: (text, bytes) => this.line(text, bytes), overflow });
    this.stdout = new PacedStream(stdout, (chunk) => this.readStdout(chunk));
    this.stderr = new PacedStream(stderr, (chunk) => this.readStderr(chunk));
  }

  /** The last line that was no message, if it came after that time (performance.now()). */
  unreadSince(time: number): string | undefined {
    return this.lastNoise.at >= time ? this.lastNoise.line : undefined;
  }

  /**
   * The process has ended; what it wrote before still counts. Its pipes are read until they are quiet, not until they
   * close: a grandchild may hold them open. Every turn polls them once, so that what the kernel holds is seen.
   */
  readRest(done: () => void): void {
    this.isLast = true;
    const pipes = [this.stdout, this.stderr];
    let quiet = 0;
    let turns = 0;
    const turn = (): void => {
      quiet = this.hasRead || pipes.some(({ isBehind }) => isBehind) ? 0 : quiet + 1;
      this.hasRead = false;
      if (quiet <= quietTurns && ++turns < maxTurns) return void setImmediate(turn);
      this.framer.end();
      this.messages.end();
      for (const pipe of pipes) pipe.close();
      done();
    };
    turn();
  }

  private get isIdle(): boolean {
    return this.conversation.size === 0;
  }

  private readStdout(chunk: Buffer): number {
    this.hasRead = true;
    if (this.isIdle) this.charge(1);
    const taken = this.framer.push(chunk);
    this.keepWithinBudget();
    return taken;
  }

  private readStderr(chunk: Buffer): number {
    this.hasRead = true;
    if (this.isIdle) this.charge(1 + chunk.length / unitBytes);
    this.tail.push(chunk);
    this.say({ type: 'stderr', chunk });
    this.keepWithinBudget();
    return chunk.length;
  }

  private line(text: string, bytes: number): boolean {
    this.messages.line(text, bytes);
    this.stdout.spend(1);
    return !this.stdout.isBehind;
  }

  private message(message: JsonObject, bytes: number, text: string): void {
    const heard = this.conversation.receive(message, bytes, text);
    if (heard === 'stray') this.noise(text, 1, bytes);
    else if (heard === 'aside') this.charge(1 + bytes / unitBytes);
    else this.owed -= freeLines * idleFactor;
  }

  private noise(text: string, lines: number, bytes: number): void {
    this.charge(lines + bytes / unitBytes);
    // A part of a long text would keep the whole of it in memory: it is copied.
    const start = text.length > noiseChars ? Buffer.from(text.slice(0, noiseChars)).toString() : text;
    const line = start.trimEnd().replaceAll('\n', ' ');
    if (line === '') return;
    this.lastNoise = { line, at: performance.now() };
    this.say({ type: 'noise', line, lines });
  }

  private charge(lines: number): void {
    this.owed += this.isIdle ? lines * idleFactor : lines;
  }

  private keepWithinBudget(): void {
    const overMs = this.owed === 0 ? 0 : this.budget.charge(this.owed);
    this.owed = 0;
    if (overMs > mostOverMs && !this.isLast)
      this.end('flood', 'protocol_error', tooMuch(this.limits.linesPerSecond));
  }

  /** Its stderr may still tell why. */
  private end(...why: Parameters<Abort>): void {
    this.isLast = true;
    this.framer.close();
    this.stdout.close();
    this.abort(...why);
  }
}

const tooMuch = (lines: number): string =>
  `The tool wrote over ${lines} lines a second beside its answers (${lines / idleFactor} while no call is open) ` +
  `for ${mostOverMs / 1_000} s`;

/**
 * A stream that is read in portions: after a portion it is left alone until the next turn of the event loop. Without
 * portions one turn would read as long as there is something to read, up to 2 MiB.
 */
class PacedStream {
  private left = unitsPerTurn;
  private rest: Buffer | undefined;
  private closed = false;

  /**
   * @param take gets a chunk, which may be written over when it returns
   * @returns how many of its bytes were taken; the others are given to it again in the next turn
   */
  constructor(
    private readonly stream: Pick<OutputStream, 'on' | 'pause' | 'resume'>,
    private readonly take: (chunk: Buffer) => number,
  ) {
    stream.on('data', (chunk: Buffer) => {
      if (this.left <= 0) return this.keep(chunk);
      this.spend(chunk.length / unitBytes);
      this.give(chunk);
    });
  }

  /** Whether the stream waits for its next portion. */
  get isBehind(): boolean {
    return this.left <= 0 && !this.closed;
  }

  /** Takes units off the portion of this turn; without any left the stream pauses. */
  spend(units: number): void {
    if (this.left <= 0) return;
    this.left -= units;
    if (this.left > 0) return;
    this.stream.pause();
    setImmediate(() => this.goOn());
  }

  /** Drops the rest: the reader wants no more. */
  close(): void {
    this.closed = true;
    this.rest = undefined;
  }

  private give(chunk: Buffer): void {
    const taken = this.take(chunk);
    if (taken < chunk.length && !this.closed) this.rest = Buffer.from(chunk.subarray(taken));
  }

  /** Node resumes its child processes' streams when they exit: chunks then come although the stream is paused. */
  private keep(chunk: Buffer): void {
    this.stream.pause();
    if (!this.closed) this.rest = Buffer.concat(this.rest ? [this.rest, chunk] : [chunk]);
  }

  private goOn(): void {
    if (this.closed) return;
    this.left = unitsPerTurn;
    const { rest } = this;
    this.rest = undefined;
    if (rest) this.give(rest);
    if (this.left > 0 && !this.closed) this.stream.resume();
  }
}

const firstBytes = 1_024;

/**
 * Keeps the last `maxBytes` bytes of a stream, such as stderr, in one buffer: a flood takes no memory but that, for
 * buffers of its own for each chunk would be freed only when the collector comes round.
 */
export class ByteTail {
  private bytes = Buffer.alloc(0);
  private length = 0;

  constructor(private readonly maxBytes: number) {}

  /** @param chunk may be written over when this returns */
  push(chunk: Buffer): void {
    // The last zero bytes are not all of them.
    const end = chunk.subarray(Math.max(0, chunk.length - this.maxBytes));
    if (this.length + end.length > this.bytes.length) this.makeRoom(end.length);
    this.length += end.copy(this.bytes, this.length);
  }

  /** The end of what was kept, at most `maxBytes` bytes long, without white space at its end. */
  text(maxBytes = this.maxBytes): string {
    return this.bytes.toString('utf8', Math.max(0, this.length - maxBytes), this.length).trimEnd();
  }

  /** The buffer grows with what is written, for most processes say next to nothing; a full one drops its oldest bytes. */
  private makeRoom(wanted: number): void {
    const kept = Math.min(this.length, this.maxBytes - wanted);
    const from = this.bytes;
    if (kept + wanted > from.length)
      this.bytes = Buffer.allocUnsafeSlow(Math.min(this.maxBytes, Math.max(firstBytes, 2 * (kept + wanted))));
    from.copy(this.bytes, 0, this.length - kept, this.length);
    this.length = kept;
  }
}
