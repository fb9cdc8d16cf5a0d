import type { JsonObject } from '../../base/common/json.js';
import { notMessage, type OtherOutput } from './failure-messages.js';
import { LineBudget, LineFramer } from './line-framer.js';
import type { Conversation } from './conversation.js';
import type { LaunchedProcess, OutputStream } from './launcher.js';
import { MessageReader } from './message-reader.js';
import type { PoolFailureReason, ProcessLimits, ProcessOutput } from './pool.types.js';

/** Max length of an unparsed line in events. */
const maxUnparsedChars = 500;
/** Each line and each KiB is one unit of work. */
const unitBytes = 1_024;
/** Units per event loop turn, which take well under a millisecond. */
const unitsPerTurn = 128;
/** Factor for output while no request is open, when a process has nothing to write. */
const idleFactor = 10;
/** Lines that each answer pays for, such as log lines. They may follow it, so they are credited at the price of idle time. */
const freeLines = 10;
/** Overdraft of the budget after which a process is killed, in milliseconds. */
const maxOverdraftMs = 10_000;
/** Limits of stderr in the tool's log. Longer lines are cut; of further lines in a second only the bytes are counted. */
const stderrLines = { maxBytes: 4_096, perSecond: 200 };
/** Event loop turns without output after which the pipes of an ended process count as empty. */
const quietTurns = 2;
/** Limit of turns, for a grandchild that keeps writing to the pipes of an ended process. */
const maxTurns = 1_024;

const notUtf8 = {
  type: 'log',
  level: 'warn',
  message:
    'Its answer has bytes that are not UTF-8; each became U+FFFD. Write UTF-8 (for Python: PYTHONIOENCODING=utf-8 in env)',
} as const;

const tooMuch = (lines: number): string =>
  `The tool wrote over ${lines} lines a second beside its answers (${lines / idleFactor} while no call is open) ` +
  `for ${maxOverdraftMs / 1_000} s`;

/** Kills the process for its output; nothing more is read. */
type Abort = (cause: 'output' | 'flood', reason: PoolFailureReason, message: string) => void;

/**
 * Reads the output of a process with bounded work per event loop turn, and with a budget per second for output that
 * answers no request. A process far over its budget is killed. Answers are free, because there is one per request, and
 * so is stderr while a request is open.
 */
export class OutputReader {
  private readonly stdoutFramer: LineFramer;
  private readonly stderrFramer: LineFramer;
  private readonly messages: MessageReader;
  private readonly stdout: PacedStream;
  private readonly stderr: PacedStream;
  private readonly budget: LineBudget;
  /** The end of stderr. */
  readonly tail: ByteTail;
  /** Lines to charge to the budget after the current chunk; negative: a refund. */
  private owed = 0;
  /** Whether the process has ended or is being killed, so that its output breaks no rule any more. */
  private isEnding = false;
  /** Whether anything was read since `readRest` last checked. */
  private hasRead = false;
  /** The last unparsed line, why it is no message, and its time by performance.now(). */
  private lastUnparsed = { line: '', why: notMessage, at: -Infinity };
  /** Whether nothing was written to stdout. False for a remote server, which has no pid and no stdout. */
  private silent: boolean;
  private readonly clean: NonNullable<ProcessLimits['clean']>;
  private hasWarnedOfEncoding = false;

  constructor(
    { stdout, stderr, pid }: LaunchedProcess,
    private readonly limits: ProcessLimits,
    private readonly conversation: Conversation,
    private readonly emit: (output: ProcessOutput) => void,
    private readonly abort: Abort,
  ) {
    const { maxLineBytes, linesPerSecond, stderrBytes } = limits;
    this.silent = pid !== undefined;
    this.clean = limits.clean ?? ((text) => text);
    this.budget = new LineBudget(linesPerSecond);
    this.tail = new ByteTail(stderrBytes);
    const overflow = (): void =>
      this.endReading(
        'output',
        'output_too_large',
        `The tool's answer is over ${maxLineBytes} bytes (CUSTOM_TOOLS_MAX_OUTPUT_BYTES)`,
      );
    this.messages = new MessageReader(maxLineBytes, {
      message: this.onMessage,
      unparsed: this.onUnparsed,
      // After the end a broken line does not matter: the request fails as crashed.
      broken: (text, why) => !this.isEnding && this.conversation.failBroken(text, why),
      overflow,
    });
    this.stdoutFramer = new LineFramer(maxLineBytes, { line: this.onLine, overflow });
    this.stderrFramer = new LineFramer(
      stderrLines.maxBytes,
      this.stderrSink,
      new LineBudget(stderrLines.perSecond),
    );
    this.stdout = new PacedStream(stdout, this.readStdout);
    this.stderr = new PacedStream(stderr, this.readStderr);
  }

  /** Output other than answers since `time` (by performance.now()). */
  otherOutputSince(time: number): OtherOutput {
    const { stdoutFramer, messages, lastUnparsed, silent } = this;
    const last = lastUnparsed.at >= time ? lastUnparsed : undefined;
    const { text, bytes } = stdoutFramer.partial;
    const partial = { text: this.clean(text, { end: true }), bytes };
    return { partial, unclosed: messages.unclosed, last, silent };
  }

  /**
   * Reads the remaining output of an ended process. The pipes are read until they are quiet, not until they close,
   * because a grandchild may hold them open. Each turn polls them once for data in the kernel's buffers.
   */
  readRest(done: () => void): void {
    this.isEnding = true;
    const pipes = [this.stdout, this.stderr];
    let quiet = 0;
    let turns = 0;
    const turn = (): void => {
      quiet = this.hasRead || pipes.some(({ isBehind }) => isBehind) ? 0 : quiet + 1;
      this.hasRead = false;
      if (quiet <= quietTurns && ++turns < maxTurns) return void setImmediate(turn);
      this.stdoutFramer.end();
      this.messages.end();
      this.stderrFramer.end();
      for (const pipe of pipes) pipe.close();
      done();
    };
    turn();
  }

  private readonly readStdout = (chunk: Buffer): number => {
    this.hasRead = true;
    this.silent = false;
    if (this.conversation.size === 0) this.charge(1);
    const taken = this.stdoutFramer.push(chunk);
    this.keepWithinBudget();
    return taken;
  };

  private readonly readStderr = (chunk: Buffer): number => {
    this.hasRead = true;
    if (this.conversation.size === 0) this.charge(1 + chunk.length / unitBytes);
    this.tail.push(chunk);
    this.stderrFramer.push(chunk);
    this.keepWithinBudget();
    return chunk.length;
  };

  private readonly stderrSink = {
    line: (text: string, _bytes: number, cut: boolean): boolean => {
      const line = this.clean(text, { end: cut }).trimEnd();
      const { execution: executionId } = this.conversation;
      if (line !== '') this.emit({ type: 'stderr', line, cut, skippedBytes: 0, executionId });
      return true;
    },
    skipped: (skippedBytes: number): void =>
      this.emit({ type: 'stderr', line: '', cut: false, skippedBytes }),
  };

  private readonly onLine = (text: string, bytes: number): boolean => {
    this.messages.line(this.clean(text), bytes);
    return this.stdout.spend(1);
  };

  private readonly onMessage = (message: JsonObject, bytes: number, text: string): void => {
    // Decoding replaces each invalid byte by U+FFFD, which has three bytes; a tool may also write that character.
    if (!this.hasWarnedOfEncoding && text.includes('\uFFFD') && Buffer.byteLength(text) !== bytes) {
      this.hasWarnedOfEncoding = true;
      this.emit({ type: 'log', notice: notUtf8, executionId: undefined });
    }
    const kind = this.conversation.receive(message, bytes, text);
    if (kind === 'stray') this.reportUnparsed(text, 1, bytes, this.conversation.whyStray(message));
    else if (kind === 'other') this.charge(1 + bytes / unitBytes);
    else this.owed -= freeLines * idleFactor;
  };

  private readonly onUnparsed = (text: string, lines: number, bytes: number): void =>
    this.reportUnparsed(text, lines, bytes, notMessage);

  private reportUnparsed(text: string, lines: number, bytes: number, why: string): void {
    this.charge(lines + bytes / unitBytes);
    // Copied, because a slice would keep the whole text in memory.
    const start =
      text.length > maxUnparsedChars ? Buffer.from(text.slice(0, maxUnparsedChars)).toString() : text;
    const line = start.trimEnd().replaceAll('\n', ' ');
    if (line === '') return;
    this.lastUnparsed = { line, why, at: performance.now() };
    this.emit({ type: 'unparsed', line, lines });
  }

  /** Adds to the lines to charge: more while no request is open. */
  private charge(lines: number): void {
    this.owed += this.conversation.size === 0 ? lines * idleFactor : lines;
  }

  /** Charges the budget after a chunk. Kills the process if it is far over it. */
  private keepWithinBudget(): void {
    const overMs = this.owed === 0 ? 0 : this.budget.charge(this.owed);
    this.owed = 0;
    if (overMs > maxOverdraftMs && !this.isEnding)
      this.endReading('flood', 'protocol_error', tooMuch(this.limits.linesPerSecond));
  }

  /** Stops reading stdout. stderr stays open: it may still explain the failure. */
  private endReading(...why: Parameters<Abort>): void {
    this.isEnding = true;
    this.stdoutFramer.close();
    this.stdout.close();
    this.abort(...why);
  }
}

/** Reads a stream in portions, one per event loop turn. Otherwise one turn would read all available data, up to 2 MiB. */
class PacedStream {
  /** Units that may still be read in this turn; the stream is paused if there are none. */
  private unitsLeft = unitsPerTurn;
  /** Input for the next turn. */
  private rest: Buffer | undefined;
  private closed = false;

  /**
   * @param consume receives a chunk, whose buffer may be reused after the call, and returns the number of bytes consumed;
   * the others are passed to it again in the next turn
   */
  constructor(
    private readonly stream: Pick<OutputStream, 'on' | 'pause' | 'resume'>,
    private readonly consume: (chunk: Buffer) => number,
  ) {
    stream.on('data', (chunk: Buffer) => {
      if (this.unitsLeft <= 0) return this.store(chunk);
      this.spend(chunk.length / unitBytes);
      this.pass(chunk);
    });
  }

  /** Whether the stream is paused until the next turn. */
  get isBehind(): boolean {
    return this.unitsLeft <= 0 && !this.closed;
  }

  /** Subtracts units from this turn's portion and pauses the stream if none is left. @returns whether any is left */
  spend(units: number): boolean {
    if (this.unitsLeft <= 0) return false;
    this.unitsLeft -= units;
    if (this.unitsLeft > 0) return true;
    this.stream.pause();
    setImmediate(() => this.resume());
    return false;
  }

  /** Drops all further input. */
  close(): void {
    this.closed = true;
    this.rest = undefined;
  }

  private pass(chunk: Buffer): void {
    const taken = this.consume(chunk);
    if (taken < chunk.length && !this.closed) this.rest = Buffer.from(chunk.subarray(taken));
  }

  /** Stores a chunk that arrives while paused: Node resumes the streams of a child process when it exits. */
  private store(chunk: Buffer): void {
    this.stream.pause();
    if (!this.closed) this.rest = Buffer.concat(this.rest ? [this.rest, chunk] : [chunk]);
  }

  private resume(): void {
    if (this.closed) return;
    this.unitsLeft = unitsPerTurn;
    const { rest } = this;
    this.rest = undefined;
    if (rest) this.pass(rest);
    if (this.unitsLeft > 0 && !this.closed) this.stream.resume();
  }
}

/** Keeps the last bytes of a stream in one buffer: kept chunks would hold a flood in memory until they are collected. */
export class ByteTail {
  /** Twice as large as needed, so that a flood moves each byte once. Allocated late, because most processes write nothing. */
  private bytes: Buffer | undefined;
  private length = 0;
  /** Bytes of the stream so far. */
  total = 0;

  constructor(private readonly maxBytes: number) {}

  /** @param chunk may be reused by the caller after the call */
  push(chunk: Buffer): void {
    // `slice(-maxBytes)` would keep everything if `maxBytes` is 0.
    const end = chunk.subarray(Math.max(0, chunk.length - this.maxBytes));
    this.bytes ??= Buffer.allocUnsafeSlow(2 * this.maxBytes);
    this.total += chunk.length;
    if (this.length + end.length > this.bytes.length) {
      this.bytes.copyWithin(0, this.length - this.maxBytes, this.length);
      this.length = this.maxBytes;
    }
    this.length += end.copy(this.bytes, this.length);
  }

  /** The last `maxBytes` bytes as text, without trailing white space. */
  text(maxBytes = this.maxBytes): string {
    const from = Math.max(0, this.length - Math.min(maxBytes, this.maxBytes));
    return this.bytes?.toString('utf8', from, this.length).trimEnd() ?? '';
  }
}
