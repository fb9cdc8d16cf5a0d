import process from 'node:process';
import { ByteTail } from './byte-tail.js';
import type { CancelReason } from './cancellation.js';
import { Conversation } from './conversation.js';
import { encodeNotification, encodeRequest } from './json-rpc.js';
import { inputFull } from './failure-messages.js';
import { whenItRunsOn } from './late-exit.js';
import { LineFramer } from './line-framer.js';
import { MessageReader } from './message-reader.js';
import { whenQuiet } from './pipe-quiet.js';
import {
  type Capabilities,
  PoolFailure,
  type ProcessSpec,
  type Reply,
  type TerminationReason,
} from './pool.types.js';
import { launch } from './process-group.js';
import { initializeParams, readHandshake, whyNotStarted } from './start-up.js';
import type {
  Ending,
  Exchange,
  LaunchedProcess,
  Launcher,
  ProcessLimits,
  ProcessObserver,
} from './tool-process.types.js';

const noiseLineChars = 500;
const tailBytes = 2_048;
/** So much is written at once: more lines would hardly make it cheaper, and it may fill the pipe. */
const gatheredChars = 16_384;

/**
 * One running executable that speaks JSON-RPC 2.0 lines (seed 003). It starts at once with `initialize`; a process
 * that fails to start stops itself. Requests are matched by id; an answer that nobody waits for is dropped.
 */
export class ToolProcess {
  private readonly child: LaunchedProcess | undefined;
  private readonly conversation = new Conversation({
    noise: (line) => this.observer.noise(line),
    log: (notice, executionId) => this.observer.log(notice, executionId),
  });
  private readonly framer: LineFramer;
  private readonly reader: MessageReader;
  private readonly stderr: ByteTail;
  private state: 'starting' | 'ready' | 'exited' = 'starting';
  private cause: TerminationReason | undefined;
  private timer: NodeJS.Timeout | undefined;
  private pipeClosed = false;
  /** Lines to be written when those who bring more of them have had their turn. */
  private outgoing = '';
  private capabilities: Capabilities = {};
  /** A write filled the pipe: nothing more is written until it drains. */
  congested = false;

  constructor(
    spec: ProcessSpec,
    private readonly limits: ProcessLimits,
    private readonly observer: ProcessObserver,
    launcher: Launcher = launch,
  ) {
    this.reader = new MessageReader(limits.maxLineBytes, {
      message: (message, bytes) => this.conversation.receive(message, bytes),
      noise: (line) => this.observer.noise(line.slice(0, noiseLineChars)),
      overflow: () => this.overflow(),
    });
    this.framer = new LineFramer(limits.maxLineBytes, this.reader);
    this.stderr = new ByteTail(limits.stderrBytes);
    let child: LaunchedProcess;
    try {
      child = launcher(spec);
    } catch (error) {
      // Said later, as a spawn error is: the owner does not hold this object yet.
      setImmediate(() => this.notStarted(whyNotStarted(error as NodeJS.ErrnoException, spec)));
      return;
    }
    this.child = child;
    this.after(limits.startTimeoutMs, () => {
      this.failStart(`It did not answer "initialize" within ${limits.startTimeoutMs} ms`);
    });
    child.on('error', (error) => this.notStarted(whyNotStarted(error, spec)));
    child.on('spawn', () => this.begin(child));
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
  send(method: string, params: object | string, exchange: Exchange): string {
    const id = this.conversation.nextId();
    const line = encodeRequest(id, method, params);
    const before = (this.child?.stdin.writableLength ?? 0) + this.outgoing.length;
    const most = this.limits.maxPendingInputBytes;
    // Only what may be too much is measured.
    const waiting = before + (before + line.length * 3 > most ? Buffer.byteLength(line) : 0);
    if (waiting > most) throw new PoolFailure('protocol_error', inputFull(waiting, most));
    this.write(id, line, exchange);
    return id;
  }

  /** Nobody waits for this answer any more. */
  forget(id: string): void {
    this.conversation.forget(id);
  }

  /**
   * Asks the tool to end a request; `exchange` gets its answer from now on.
   * @returns false when the tool has not declared `cancel` or does not read its input; then nothing has changed
   */
  cancel(id: string, exchange: Exchange & { readonly givenUp: CancelReason }): boolean {
    if (!this.capabilities.cancel || !this.usable || this.congested) return false;
    this.conversation.cancel(id, exchange);
    this.notify('cancel', { id, reason: exchange.givenUp });
    return true;
  }

  /** The end of what the tool wrote to stderr. */
  stderrTail(): string {
    return this.stderr.text(tailBytes);
  }

  /** Says `shutdown` to a tool that declared it and closes stdin; SIGTERM and SIGKILL to the group follow, a grace apart. */
  stop(reason: TerminationReason): void {
    if (this.state === 'exited' || this.cause) return;
    if (this.pid === undefined) return this.kill(reason);
    this.cause = reason;
    if (this.capabilities.shutdown) this.notify('shutdown', {});
    this.flush();
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
    this.conversation.add(id, exchange);
    this.writeLine(line);
  }

  private notify(method: 'cancel' | 'shutdown', params: object): void {
    this.writeLine(encodeNotification(method, params));
  }

  /** Lines that come together, as those of all calls whose starts were recorded at once do, share one system call. */
  private writeLine(line: string): void {
    if (this.outgoing === '') process.nextTick(() => this.flush());
    this.outgoing += line;
    if (this.outgoing.length >= gatheredChars) this.flush();
  }

  private flush(): void {
    const lines = this.outgoing;
    this.outgoing = '';
    if (lines !== '' && this.child?.stdin.write(lines) === false) this.congested = true;
  }

  private listen(child: LaunchedProcess): void {
    child.stdout.on('data', (chunk: Buffer) => this.framer.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => this.stderr.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => this.observer.stderr(chunk));
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

  private begin(child: LaunchedProcess): void {
    this.listen(child);
    // It may have been told to end before it ran.
    if (this.cause) return;
    this.write('0', encodeRequest('0', 'initialize', initializeParams), {
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
    this.capabilities = handshake.capabilities ?? {};
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

  private overflow(): void {
    this.cause ??= 'output';
    this.conversation.failAll(
      'output_too_large',
      `The tool's answer is over ${this.limits.maxLineBytes} bytes`,
    );
    this.kill('output');
  }

  /** A closed pipe is usually the first sign of an exit; a process that stays alive without it is of no use. */
  private pipeBroken(): void {
    if (this.state === 'exited' || this.cause || this.pipeClosed) return;
    this.sayBroken();
    const after = (ms: number, act: () => void): void => this.after(ms, act);
    whenItRunsOn(this.pid, after, () => {
      this.cause = 'protocol';
      this.conversation.failAll(
        'protocol_error',
        'The tool closed its input or its output and went on running',
      );
      this.kill('protocol');
    });
  }

  private sayBroken(): void {
    const wasUsable = this.usable;
    this.pipeClosed = true;
    if (wasUsable) this.observer.broken();
  }

  private exited(child: LaunchedProcess, exitCode: number | null, signal: string | null): void {
    const wasReady = this.state === 'ready';
    this.sayBroken();
    this.state = 'exited';
    clearTimeout(this.timer);
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
    const { size, givenUp } = this.conversation;
    const clean = exitCode === 0 && size === 0 && wasReady;
    const reason = this.cause ?? givenUp ?? (clean ? 'exit' : wasReady ? 'crash' : 'start_failed');
    const ending: Ending = { reason, exitCode, signal, stderrTail: this.stderrTail() };
    const how = signal === null ? `ended with exit code ${exitCode}` : `was ended by ${signal}`;
    this.conversation.failAll(
      'tool_crashed',
      wasReady ? `The tool ${how} before it answered` : `It ${how} before it answered "initialize"`,
      ending,
    );
    this.observer.ended(ending);
  }

  private after(ms: number, act: () => void): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(act, ms);
  }

  private signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }
}
