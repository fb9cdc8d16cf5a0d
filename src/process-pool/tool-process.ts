import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { ByteTail } from './byte-tail.js';
import { classify, encodeRequest, idAfter } from './json-rpc.js';
import { LineFramer } from './line-framer.js';
import { type JsonObject, MessageReader } from './message-reader.js';
import { whenQuiet } from './pipe-quiet.js';
import {
  PoolFailure,
  type PoolFailureReason,
  type ProcessSpec,
  type Reply,
  type TerminationReason,
} from './pool.types.js';
import { launch, signalGroup } from './process-group.js';
import { readHandshake, whyNotStarted } from './start-up.js';
import type { Ending, Exchange, Launcher, ProcessLimits, ProcessObserver } from './tool-process.types.js';

/** A process that closed a pipe gets this long to exit by itself. */
const brokenGraceMs = 200;
const noiseLineChars = 500;
const tailBytes = 2_048;

/**
 * One running executable that speaks JSON-RPC 2.0 lines (seed 003). It starts at once with `initialize`; a process
 * that fails to start stops itself. Requests are matched by id; an answer that nobody waits for is dropped.
 */
export class ToolProcess {
  private readonly child: ChildProcessWithoutNullStreams | undefined;
  private readonly open = new Map<string, Exchange>();
  private readonly framer: LineFramer;
  private readonly reader: MessageReader;
  private readonly stderr: ByteTail;
  private lastId = 0;
  private state: 'starting' | 'ready' | 'exited' = 'starting';
  private cause: TerminationReason | undefined;
  private timer: NodeJS.Timeout | undefined;
  private pipeClosed = false;
  /** A write filled the pipe: nothing more is written until it drains. */
  congested = false;

  constructor(
    spec: ProcessSpec,
    private readonly limits: ProcessLimits,
    private readonly observer: ProcessObserver,
    launcher: Launcher = launch,
  ) {
    this.reader = new MessageReader(limits.maxLineBytes, {
      message: (message, bytes) => this.receive(message, bytes),
      noise: (line) => this.observer.noise(line.slice(0, noiseLineChars)),
      overflow: () => this.overflow(),
    });
    this.framer = new LineFramer(limits.maxLineBytes, this.reader);
    this.stderr = new ByteTail(limits.stderrBytes);
    try {
      this.child = launcher(spec);
    } catch (error) {
      // Said later, as a spawn error is: the owner does not hold this object yet.
      setImmediate(() => this.notStarted(whyNotStarted(error as NodeJS.ErrnoException, spec)));
      return;
    }
    // Without a pid there may be no streams either (EMFILE), only an error to come.
    this.child.on('error', (error) => {
      if (this.pid === undefined) this.notStarted(whyNotStarted(error, spec));
    });
    if (this.pid !== undefined) {
      this.listen(this.child);
      this.initialize();
    }
  }

  /** It may be given a request. */
  get usable(): boolean {
    return this.state === 'ready' && !this.cause && !this.pipeClosed;
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  /**
   * Writes one request.
   * @returns its id, for `forget`
   * @throws PoolFailure `protocol_error` with nothing written when the process does not read its input
   */
  send(method: string, params: unknown, exchange: Exchange): string {
    this.lastId = idAfter(this.lastId);
    const id = String(this.lastId);
    const line = encodeRequest(id, method, params);
    const waiting = (this.child?.stdin.writableLength ?? 0) + Buffer.byteLength(line);
    const most = this.limits.maxPendingInputBytes;
    if (waiting > most) {
      throw new PoolFailure(
        'protocol_error',
        `${waiting} bytes would wait in the tool's input, over ${most}`,
      );
    }
    this.write(id, line, exchange);
    return id;
  }

  /** Nobody waits for this answer any more. */
  forget(id: string): void {
    this.open.delete(id);
  }

  /** The end of what the tool wrote to stderr. */
  stderrTail(): string {
    return this.stderr.text(tailBytes);
  }

  /** Closes stdin; SIGTERM and SIGKILL to the group follow, a grace apart. */
  stop(reason: TerminationReason): void {
    if (this.state === 'exited' || this.cause) return;
    this.cause = reason;
    this.child?.stdin.end();
    this.after(this.limits.stopGraceMs, () => {
      this.signal('SIGTERM');
      this.after(this.limits.stopGraceMs, () => this.signal('SIGKILL'));
    });
  }

  /** SIGKILL to the group, at once; also ends a stop under way. */
  kill(reason: TerminationReason): void {
    if (this.state === 'exited') return;
    this.cause ??= reason;
    clearTimeout(this.timer);
    this.signal('SIGKILL');
  }

  private write(id: string, line: string, exchange: Exchange): void {
    const pipelined = this.open.size > 0;
    this.open.set(id, exchange);
    if (pipelined) this.gather();
    if (this.child?.stdin.write(line) === false) this.congested = true;
  }

  /** Requests that reach a busy process in one turn of the event loop share one system call. */
  private gather(): void {
    const stdin = this.child?.stdin;
    if (!stdin || stdin.writableCorked > 0) return;
    stdin.cork();
    setImmediate(() => stdin.uncork());
  }

  private listen(child: ChildProcessWithoutNullStreams): void {
    child.stdout.on('data', (chunk: Buffer) => this.framer.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => this.stderr.push(chunk));
    child.stdin.on('drain', () => {
      this.congested = false;
      if (this.state === 'ready') this.observer.drained();
    });
    const broken = () => this.pipeBroken();
    child.stdout.on('end', broken).on('error', broken);
    child.stdin.on('error', broken);
    child.stderr.on('error', broken);
    child.on('exit', (code, signal) => this.exited(child, code, signal));
  }

  private initialize(): void {
    this.after(this.limits.startTimeoutMs, () => {
      this.failStart(`It did not answer "initialize" within ${this.limits.startTimeoutMs} ms`);
    });
    this.write('0', encodeRequest('0', 'initialize', { protocolVersion: '1.0' }), {
      answered: (reply) => this.initialized(reply),
      failed: (_reason, message) => this.failStart(message),
    });
  }

  private initialized(reply: Reply): void {
    if (this.cause) return;
    const handshake = readHandshake(reply);
    if (typeof handshake === 'string') return this.failStart(handshake);
    clearTimeout(this.timer);
    // It may have answered with its last breath; then its exit says what is wrong.
    if (this.state === 'exited') return this.failStart('It ended right after its answer to "initialize"');
    this.state = 'ready';
    this.observer.ready(handshake);
  }

  private failStart(why: string): void {
    if (this.cause && this.cause !== 'output' && this.cause !== 'protocol') return;
    this.cause = 'start_failed';
    this.observer.startFailed(why);
    this.kill('start_failed');
  }

  private notStarted(why: string): void {
    this.state = 'exited';
    clearTimeout(this.timer);
    if (!this.cause) this.observer.startFailed(why);
    this.observer.ended({
      reason: this.cause ?? 'start_failed',
      exitCode: null,
      signal: null,
      stderrTail: '',
    });
  }

  private receive(message: JsonObject, bytes: number): void {
    const incoming = classify(message, this.open);
    switch (incoming.kind) {
      case 'reply':
        return this.take(incoming.id)?.answered(incoming.reply, bytes);
      case 'malformed':
        return this.take(incoming.id)?.failed(
          'protocol_error',
          `The tool broke the protocol: ${incoming.problem}`,
        );
      case 'unaddressed': {
        // The tool could not read a request; with one open there is no doubt which.
        const [only, ...others] = this.open.keys();
        if (only !== undefined && others.length === 0) this.take(only)?.answered(incoming.reply, bytes);
        return;
      }
      case 'noise':
        return this.observer.noise(JSON.stringify(message).slice(0, noiseLineChars));
      case 'late':
      case 'notification':
        return;
    }
  }

  private take(id: string): Exchange | undefined {
    const exchange = this.open.get(id);
    this.open.delete(id);
    return exchange;
  }

  private overflow(): void {
    this.cause ??= 'output';
    this.failOpen('output_too_large', `The tool's answer is over ${this.limits.maxLineBytes} bytes`);
    this.kill('output');
  }

  /** A closed pipe is usually the first sign of an exit; a process that stays alive without it is of no use. */
  private pipeBroken(): void {
    if (this.state === 'exited' || this.cause || this.pipeClosed) return;
    this.sayBroken();
    this.after(brokenGraceMs, () => {
      this.cause = 'protocol';
      this.failOpen('protocol_error', 'The tool closed its input or its output and went on running');
      this.kill('protocol');
    });
  }

  private sayBroken(): void {
    const wasUsable = this.usable;
    this.pipeClosed = true;
    if (wasUsable) this.observer.broken();
  }

  private exited(
    child: ChildProcessWithoutNullStreams,
    exitCode: number | null,
    signal: string | null,
  ): void {
    const wasReady = this.state === 'ready';
    this.sayBroken();
    this.state = 'exited';
    clearTimeout(this.timer);
    this.signal('SIGKILL');
    whenQuiet(child, () => {
      this.framer.end();
      this.reader.end();
      child.stdout.destroy();
      child.stderr.destroy();
      child.stdin.destroy();
      this.finish(exitCode, signal, wasReady);
    });
  }

  private finish(exitCode: number | null, signal: string | null, wasReady: boolean): void {
    const clean = exitCode === 0 && this.open.size === 0 && wasReady;
    const reason = this.cause ?? (clean ? 'exit' : wasReady ? 'crash' : 'start_failed');
    const ending: Ending = { reason, exitCode, signal, stderrTail: this.stderrTail() };
    const how = signal === null ? `ended with exit code ${exitCode}` : `was ended by ${signal}`;
    this.failOpen(
      'tool_crashed',
      wasReady ? `The tool ${how} before it answered` : `It ${how} before it answered "initialize"`,
      ending,
    );
    this.observer.ended(ending);
  }

  private failOpen(reason: PoolFailureReason, message: string, ending?: Ending): void {
    const exchanges = [...this.open.values()];
    this.open.clear();
    for (const exchange of exchanges) exchange.failed(reason, message, ending);
  }

  private after(ms: number, act: () => void): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(act, ms);
  }

  private signal(signal: NodeJS.Signals): void {
    if (this.pid !== undefined) signalGroup(this.pid, signal);
  }
}
