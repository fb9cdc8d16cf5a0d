import type { JsonObject } from '../../base/common/json.js';
import { Conversation, type Exchange } from './conversation.js';
import { encodeNotification, encodeReply, encodeRequest, LineWriter } from './json-rpc.js';
import { ownDialect } from './own-dialect.js';
import { lateStart, type OtherOutput, whyNotStarted } from './failure-messages.js';
import type { LaunchedProcess, Launcher } from './launcher.js';
import { ifStillRunning } from './broken-pipe.js';
import { OutputReader } from './output-reader.js';
import {
  type Capabilities,
  type Dialect,
  type Ending,
  type DialectSender,
  type DialectSession,
  type Handshake,
  PoolFailure,
  type PoolFailureReason,
  type ProcessLimits,
  type ProcessOutput,
  type ProcessSpec,
  type Reply,
  type RequestOptions,
  type TerminationReason,
} from './pool.types.js';

/** Max bytes of stderr in results and errors. */
const tailBytes = 2_048;
const endedAfterInitialize = 'It ended right after its answer to "initialize"';
const tooMuchInput = (bytes: number, max: number): string =>
  `${bytes} bytes would wait in the tool's input, over ${max}`;
const brokenProtocol = (how: string): string => `The tool broke the protocol: ${how}`;

/** Events of a process, emitted synchronously. `start_failed` precedes `ended`, which is the last event. */
export type ProcessEvent =
  | { readonly type: 'ready'; readonly handshake: Handshake }
  | { readonly type: 'start_failed'; readonly error: string }
  /** The process reads its input again. */
  | { readonly type: 'drained' }
  | ProcessOutput
  | { readonly type: 'ended'; readonly ending: Ending };

type ProcessState =
  | { readonly name: 'starting' }
  | { readonly name: 'ready'; readonly capabilities: Capabilities }
  /** The process closed a pipe, usually the first sign of an exit. */
  | { readonly name: 'broken'; readonly wasReady: boolean }
  /** The process was asked or forced to end. */
  | { readonly name: 'ending'; readonly wasReady: boolean; readonly cause: TerminationReason }
  /** The process has ended; its remaining output is being read. */
  | { readonly name: 'exited'; readonly wasReady: boolean; readonly cause: TerminationReason | undefined };

/** A running executable that exchanges JSON-RPC 2.0 lines. The constructor starts it. One that fails to start is killed. */
export class PoolProcess {
  private readonly child: LaunchedProcess | undefined;
  private readonly conversation: Conversation;
  private readonly dialect: Dialect;
  /** Set when the process has been launched. */
  private session: DialectSession | undefined;
  private output: OutputReader | undefined;
  private state: ProcessState = { name: 'starting' };
  /** Method of the last request of its start, for the message of a failure. */
  private startMethod = 'initialize';
  /** The rule that the process broke. */
  private brokenRule: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private unwatch: (() => void) | undefined;
  private readonly writer = new LineWriter(() => this.child?.stdin);

  constructor(
    spec: ProcessSpec,
    private readonly limits: ProcessLimits,
    launcher: Launcher,
    private readonly emit: (event: ProcessEvent) => void,
  ) {
    this.dialect = limits.dialect ?? ownDialect;
    this.conversation = new Conversation(
      emit,
      this.dialect.readNotice,
      (message) => this.receive(message),
      (id, reply) => this.session?.isFinal?.(id, reply) ?? true,
    );
    this.child = this.launch(spec, launcher);
  }

  /** Whether the process accepts requests. */
  get usable(): boolean {
    return this.state.name === 'ready';
  }
  /** Whether the process does not read its input; nothing more is written until it does. */
  get congested(): boolean {
    return this.writer.congested;
  }
  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** Writes one request. @returns its id @throws PoolFailure `protocol_error`: too much input is pending, nothing is written */
  send(
    method: RequestOptions['method'],
    params: object,
    exchange: Exchange,
    wireMethod = this.dialect.methods[method],
  ): string {
    const id = this.conversation.nextId();
    const rewritten = this.session?.outgoing?.(id, wireMethod, params);
    const line = encodeRequest(id, rewritten?.method ?? wireMethod, rewritten?.params ?? params);
    const max = this.limits.maxPendingInputBytes;
    // UTF-8 takes at most three bytes per character: only lines that may exceed the limit are measured.
    if (this.writer.waiting + line.length * 3 > max) {
      const bytes = this.writer.waiting + Buffer.byteLength(line);
      if (bytes > max) throw new PoolFailure('protocol_error', tooMuchInput(bytes, max));
    }
    this.conversation.add(id, exchange);
    this.writer.write(line);
    return id;
  }

  /** Abandons a request: a late answer to it is ignored. */
  forget(id: string): void {
    this.conversation.forget(id);
    this.session?.forgotten?.(id);
  }

  /**
   * Cancels a request; `exchange` receives the answer that shows that the process can be used again.
   * @returns the id of that answer; undefined if the tool did not declare `cancel` or does not read its input
   */
  cancel(id: string, exchange: Exchange & { readonly givenUp: TerminationReason }): string | undefined {
    if (this.state.name !== 'ready' || !this.state.capabilities.cancel || this.congested) return undefined;
    const cancel = this.dialect.cancel(id, exchange.givenUp);
    const { method, params } = this.session?.outgoing?.(id, cancel.method, cancel.params) ?? cancel;
    if (!this.dialect.asksAfterCancel) this.conversation.cancel(id, exchange);
    this.writer.write(encodeNotification(method, params));
    return this.dialect.asksAfterCancel ? this.send('health', {}, exchange) : id;
  }

  otherOutputSince = (time: number): OtherOutput | undefined => this.output?.otherOutputSince(time);
  stderrBytes = (): number => this.output?.tail.total ?? 0;

  /** The end of stderr. @param since a former `stderrBytes`: earlier output is left out */
  stderrTail(since = 0): string {
    const tail = this.output?.tail.text(Math.min(tailBytes, this.stderrBytes() - since)) ?? '';
    return this.limits.clean?.(tail, { start: true }) ?? tail;
  }

  /** Sends `shutdown` if the tool declared it and closes stdin; SIGTERM and SIGKILL follow, each after `stopGraceMs`. */
  stop(cause: TerminationReason): void {
    const { state } = this;
    if (state.name === 'exited' || state.name === 'ending') return;
    if (this.pid === undefined) return this.kill(cause);
    const takesShutdown = state.name === 'ready' && state.capabilities.shutdown;
    this.state = { name: 'ending', wasReady: this.wasReady, cause };
    if (takesShutdown) this.writer.write(encodeNotification('shutdown', {}));
    this.writer.end();
    this.after(this.limits.stopGraceMs, () => {
      this.child?.kill('SIGTERM');
      this.after(this.limits.stopGraceMs, () => this.child?.kill('SIGKILL'));
    });
  }

  /** Sends SIGKILL to the group at once. Also cuts a running `stop` short, but keeps its cause. */
  kill(cause: TerminationReason): void {
    if (this.state.name === 'exited') return;
    if (this.state.name !== 'ending') this.state = { name: 'ending', wasReady: this.wasReady, cause };
    clearTimeout(this.timer);
    this.child?.kill('SIGKILL');
  }

  private get wasReady(): boolean {
    const { state } = this;
    return state.name === 'ready' || (state.name !== 'starting' && state.wasReady);
  }

  private launch(spec: ProcessSpec, launcher: Launcher): LaunchedProcess | undefined {
    const notStarted = (error: Error): void => this.onNotStarted(whyNotStarted(error, spec));
    try {
      const child = launcher(spec);
      const { startTimeoutMs } = this.limits;
      const late = (): string => lateStart(this.startMethod, startTimeoutMs, this.otherOutputSince(0));
      this.after(startTimeoutMs, () => this.failStart(late()));
      child.on('error', notStarted);
      child.on('spawn', () => this.begin(child, spec));
      return child;
    } catch (error) {
      // Deferred, as spawn errors are: the owner does not hold this object yet.
      setImmediate(() => notStarted(error as Error));
      return undefined;
    }
  }

  private listen(child: LaunchedProcess): void {
    const { limits, conversation, emit } = this;
    this.output = new OutputReader(child, limits, conversation, emit, (...why) => this.abort(...why));
    child.stdin.on('drain', () => {
      this.writer.congested = false;
      if (this.usable) this.emit({ type: 'drained' });
    });
    const onPipeBroken = (): void => this.onPipeBroken();
    child.stdout.on('end', onPipeBroken).on('error', onPipeBroken);
    child.stdin.on('error', onPipeBroken);
    child.stderr.on('error', onPipeBroken);
    child.on('exit', (code, signal) => this.onExit(child, code, signal));
  }

  private begin(child: LaunchedProcess, { watch }: ProcessSpec): void {
    this.listen(child);
    this.unwatch = watch?.(child.pid ?? 0, (why) => this.abort('crash', 'tool_crashed', why));
    // It may have been stopped before it ran.
    if (this.state.name !== 'starting') return;
    const sender: DialectSender = {
      request: (...request) => this.request(...request),
      subscribe: (method, params) => {
        const id = this.conversation.nextId();
        // So that its answer is ignored.
        this.conversation.forget(id);
        this.writer.write(encodeRequest(id, method, params));
        return id;
      },
      notify: (method, params) => this.writer.write(encodeNotification(method, params)),
      settle: (id, reply) => this.conversation.settle(id, reply),
    };
    this.session = this.dialect.begin(sender, (handshake) => this.onHandshake(handshake));
  }

  /** Sends a request of the dialect itself, at the start or later. */
  private request(...[method, params, answered, otherwise]: Parameters<DialectSender['request']>): void {
    if (this.state.name !== 'starting' && this.state.name !== 'ready') return;
    if (!this.wasReady) this.startMethod = method;
    const id = method === 'initialize' ? '0' : this.conversation.nextId();
    this.conversation.add(id, {
      answered,
      failed: (_reason, message) => this.onHandshake(otherwise ?? message),
    });
    this.writer.write(encodeRequest(id, method, params));
  }

  /** Handles a request of the process, or a notification. */
  private receive(message: JsonObject): void {
    const uri = this.dialect.updatedIn?.(message);
    if (uri !== undefined) return this.emit({ type: 'updated', uri });
    const { relayedMethod } = this.dialect;
    const isRelayed = relayedMethod !== undefined && message.method === relayedMethod;
    const callerReply = isRelayed ? this.conversation.relay(message) : undefined;
    if (callerReply) return void callerReply.then((reply) => this.reply(message.id, reply));
    const reply = this.session?.handle(message);
    if (reply && message.id !== undefined) this.reply(message.id, reply);
  }

  /** Writes a reply, unless the process does not read its input. */
  private reply(id: unknown, reply: Reply): void {
    if (!this.congested && this.state.name !== 'exited') this.writer.write(encodeReply(id, reply));
  }

  /** @param handshake or the reason why the process cannot be used */
  private onHandshake(handshake: Handshake | string): void {
    if (this.state.name === 'ending') return;
    if (typeof handshake === 'string') {
      if (this.usable) this.abort('protocol', 'protocol_error', brokenProtocol(handshake));
      else if (!this.wasReady) this.failStart(handshake);
      return;
    }
    // Emitted before `ready`, so that no call reaches a process whose tools have changed.
    if (handshake.tools && (this.usable || this.state.name === 'starting'))
      this.emit({ type: 'listed', handshake });
    if (this.wasReady) return;
    // It may have exited right after its answer.
    if (this.state.name === 'exited') return this.failStart(endedAfterInitialize);
    if (this.state.name !== 'starting') return;
    clearTimeout(this.timer);
    this.state = { name: 'ready', capabilities: handshake.capabilities ?? {} };
    this.emit({ type: 'ready', handshake });
  }

  /** Reports a failed start, unless the process was stopped on purpose. */
  private failStart(error: string): void {
    const { state } = this;
    if (state.name === 'ending' || (state.name === 'exited' && state.cause)) return;
    if (state.name !== 'exited') this.state = { name: 'ending', wasReady: false, cause: 'start_failed' };
    this.emit({ type: 'start_failed', error });
    this.kill('start_failed');
  }

  private onNotStarted(error: string): void {
    clearTimeout(this.timer);
    const cause = this.state.name === 'ending' ? this.state.cause : undefined;
    this.state = { name: 'exited', wasReady: false, cause };
    this.failStart(error);
    const reason = cause ?? 'start_failed';
    this.emit({ type: 'ended', ending: { reason, exitCode: null, signal: null, stderrTail: '' } });
  }

  /** Kills a process that broke the protocol or a limit; for a starting one this is a failed start. */
  private abort(cause: TerminationReason, reason: PoolFailureReason, message: string): void {
    if (this.usable) this.state = { name: 'ending', wasReady: true, cause };
    this.brokenRule ??= message;
    this.conversation.failAll(reason, message);
    this.kill(cause);
  }

  /** Kills a process that keeps running with a pipe closed, because it cannot answer any more. */
  private onPipeBroken(): void {
    if (this.state.name !== 'starting' && this.state.name !== 'ready') return;
    this.state = { name: 'broken', wasReady: this.wasReady };
    const message = 'The tool closed its input or its output and went on running';
    const abort = (): void => this.abort('protocol', 'protocol_error', message);
    ifStillRunning(this.pid, (ms, act) => this.after(ms, act), abort);
  }

  private onExit(child: LaunchedProcess, exitCode: number | null, signal: string | null): void {
    clearTimeout(this.timer);
    this.unwatch?.();
    const cause = this.state.name === 'ending' ? this.state.cause : undefined;
    this.state = { name: 'exited', wasReady: this.wasReady, cause };
    this.output?.readRest(() => {
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
      this.finish(exitCode, signal, cause);
    });
  }

  /** Reports the end, after all output was read. */
  private finish(exitCode: number | null, signal: string | null, cause: TerminationReason | undefined): void {
    const { wasReady, conversation, brokenRule: why } = this;
    const isCleanExit = wasReady && exitCode === 0 && conversation.size === 0;
    const failure = wasReady ? 'crash' : 'start_failed';
    const reason = cause ?? conversation.givenUp ?? (isCleanExit ? 'exit' : failure);
    const ending: Ending = { reason, exitCode, signal, stderrTail: this.stderrTail(), why };
    const ended = signal === null ? `ended with exit code ${exitCode}` : `was ended by ${signal}`;
    // A remote server has a connection in place of a process.
    const how = this.pid === undefined ? 'lost its connection' : ended;
    const unanswered = wasReady ? '' : ` "${this.startMethod}"`;
    const who = wasReady ? 'The tool' : 'It';
    conversation.failAll('tool_crashed', `${who} ${how} before it answered${unanswered}`, ending);
    this.emit({ type: 'ended', ending });
  }

  /** Sets the one timer of the process. */
  private after(ms: number, act: () => void): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(act, ms);
  }
}
