import { whenItRunsOn } from './process-end.js';
import type { JsonObject } from '../common/json.js';
import { Conversation, type Exchange } from './conversation.js';
import { ownDialect } from './own-dialect.js';
import { encodeNotification, encodeReply, encodeRequest, LineWriter } from './json-rpc.js';
import { lateStart, whyNotStarted } from './failure-messages.js';
import type { LaunchedProcess, Launcher } from './launcher.js';
import { OutputReader } from './output-reader.js';
import {
  type Capabilities,
  type Dialect,
  type Ending,
  type Handshake,
  type Hear,
  PoolFailure,
  type PoolFailureReason,
  type ProcessLimits,
  type ProcessOutput,
  type ProcessSpec,
  type RequestOptions,
  type Talk,
  type TerminationReason,
} from './pool.types.js';

const tailBytes = 2_048;
const endedThen = 'It ended right after its answer to "initialize"';
const unread = (bytes: number, most: number): string =>
  `${bytes} bytes would wait in the tool's input, over ${most}`;
const broke = (what: string): string => `The tool broke the protocol: ${what}`;

/** Said synchronously; `start_failed` comes before `ended`, `ended` is the last. */
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
  /** It closed a pipe: usually the first sign of an exit. */
  | { readonly name: 'broken'; readonly wasReady: boolean }
  /** It was told to end. */
  | { readonly name: 'ending'; readonly wasReady: boolean; readonly cause: TerminationReason }
  /** It runs no more; what it wrote last is read. */
  | { readonly name: 'exited'; readonly wasReady: boolean; readonly cause: TerminationReason | undefined };

/**
 * One running executable that speaks JSON-RPC 2.0 lines. It starts at once with `initialize`; a process that fails to
 * start stops itself. Requests are matched by id; an answer that nobody waits for is dropped.
 */
export class PoolProcess {
  private readonly child: LaunchedProcess | undefined;
  private readonly conversation: Conversation;
  private readonly dialect: Dialect;
  /** Answers the requests that the process sends. */
  private hear: Hear = () => undefined;
  private output: OutputReader | undefined;
  private state: ProcessState = { name: 'starting' };
  /** The rule that it broke. */
  private why: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly lines = new LineWriter(() => this.child?.stdin);

  constructor(
    spec: ProcessSpec,
    private readonly limits: ProcessLimits,
    launcher: Launcher,
    private readonly say: (event: ProcessEvent) => void,
  ) {
    this.dialect = limits.dialect ?? ownDialect;
    this.conversation = new Conversation(say, this.dialect.readNotice, (message) => this.heard(message));
    this.child = this.launch(spec, launcher);
  }

  /** It may be given a request. */
  get usable(): boolean {
    return this.state.name === 'ready';
  }
  /** It does not read what is written: it gets nothing more until it does. */
  get congested(): boolean {
    return this.lines.congested;
  }
  get pid(): number | undefined {
    return this.child?.pid;
  }

  /**
   * Writes one request.
   * @returns its id, for `forget`: then its answer is passed over
   * @throws PoolFailure `protocol_error` with nothing written when the process does not read its input
   */
  send(method: RequestOptions['method'], params: object, exchange: Exchange): string {
    const id = this.conversation.nextId();
    const line = encodeRequest(id, this.dialect.methods[method], params);
    const before = this.lines.waiting;
    const most = this.limits.maxPendingInputBytes;
    // Only what may be too much is measured.
    const waiting = before + (before + line.length * 3 > most ? Buffer.byteLength(line) : 0);
    if (waiting > most) throw new PoolFailure('protocol_error', unread(waiting, most));
    this.conversation.add(id, exchange);
    this.lines.write(line);
    return id;
  }

  forget(id: string): void {
    this.conversation.forget(id);
  }

  /**
   * Asks the tool to end a request; `exchange` gets the answer that shows that it goes on.
   * @returns the id of that answer; undefined when the tool has not declared `cancel` or does not read its input: then
   * nothing has changed
   */
  cancel(id: string, exchange: Exchange & { readonly givenUp: TerminationReason }): string | undefined {
    if (this.state.name !== 'ready' || !this.state.capabilities.cancel || this.congested) return undefined;
    const { method, params } = this.dialect.cancel(id, exchange.givenUp);
    if (!this.dialect.asksAfterCancel) this.conversation.cancel(id, exchange);
    this.lines.write(encodeNotification(method, params));
    return this.dialect.asksAfterCancel ? this.send('health', {}, exchange) : id;
  }

  unreadSince = (time: number): string | undefined => this.output?.unreadSince(time);

  /** The end of what the tool wrote to stderr. */
  stderrTail(): string {
    return this.output?.tail.text(tailBytes) ?? '';
  }

  /**
   * Says `shutdown` to a tool that declared it and closes stdin; SIGTERM and SIGKILL to the group follow, a grace
   * apart.
   */
  stop(cause: TerminationReason): void {
    const { state } = this;
    if (state.name === 'exited' || state.name === 'ending') return;
    if (this.pid === undefined) return this.kill(cause);
    const isTold = state.name === 'ready' && state.capabilities.shutdown;
    this.state = { name: 'ending', wasReady: this.wasReady, cause };
    if (isTold) this.lines.write(encodeNotification('shutdown', {}));
    this.lines.end();
    this.after(this.limits.stopGraceMs, () => {
      this.child?.kill('SIGTERM');
      this.after(this.limits.stopGraceMs, () => this.child?.kill('SIGKILL'));
    });
  }

  /** SIGKILL to the group, at once; also ends a stop under way, whose cause stays. */
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
    const notStarted = (error: Error): void => this.notStarted(whyNotStarted(error, spec));
    try {
      const child = launcher(spec);
      const { startTimeoutMs } = this.limits;
      this.after(startTimeoutMs, () => this.failStart(lateStart(startTimeoutMs, this.unreadSince(0))));
      child.on('error', notStarted);
      child.on('spawn', () => this.begin(child));
      return child;
    } catch (error) {
      // Said later, as a spawn error is: the owner does not hold this object yet.
      setImmediate(() => notStarted(error as Error));
      return undefined;
    }
  }

  private listen(child: LaunchedProcess): void {
    const { limits, conversation, say } = this;
    this.output = new OutputReader(child, limits, conversation, say, (...why) => this.abort(...why));
    child.stdin.on('drain', () => {
      this.lines.congested = false;
      if (this.usable) this.say({ type: 'drained' });
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
    if (this.state.name !== 'starting') return;
    const talk: Talk = {
      ask: (...question) => this.ask(...question),
      tell: (method, params) => this.lines.write(encodeNotification(method, params)),
    };
    this.hear = this.dialect.begin(talk, (said) => this.introduced(said));
  }

  /** Asks what the dialect wants to know, at the start and later on. */
  private ask(...[method, params, answered]: Parameters<Talk['ask']>): void {
    if (this.state.name !== 'starting' && this.state.name !== 'ready') return;
    const id = method === 'initialize' ? '0' : this.conversation.nextId();
    this.conversation.add(id, { answered, failed: (_reason, message) => this.introduced(message) });
    this.lines.write(encodeRequest(id, method, params));
  }

  /** A process that does not read its input gets no answers either. */
  private heard(message: JsonObject): void {
    const reply = this.hear(message);
    if (reply && message.id !== undefined && !this.congested)
      this.lines.write(encodeReply(message.id, reply));
  }

  private introduced(said: Handshake | string): void {
    if (this.state.name === 'ending') return;
    if (typeof said === 'string' && this.usable) return this.abort('protocol', 'protocol_error', broke(said));
    if (typeof said === 'string') return this.wasReady ? undefined : this.failStart(said);
    // Before anybody gets a process that offers something else than is expected.
    const { tools } = said;
    if (tools && (this.usable || this.state.name === 'starting')) this.say({ type: 'listed', tools });
    if (this.wasReady) return;
    // It may have answered with its last breath; then its exit says what is wrong.
    if (this.state.name === 'exited') return this.failStart(endedThen);
    if (this.state.name !== 'starting') return;
    clearTimeout(this.timer);
    this.state = { name: 'ready', capabilities: said.capabilities ?? {} };
    this.say({ type: 'ready', handshake: said });
  }

  /** Nothing is said of a process that was told to end: nobody wants it any more. */
  private failStart(error: string): void {
    const { state } = this;
    if (state.name === 'ending' || (state.name === 'exited' && state.cause)) return;
    if (state.name !== 'exited') this.state = { name: 'ending', wasReady: false, cause: 'start_failed' };
    this.say({ type: 'start_failed', error });
    this.kill('start_failed');
  }

  private notStarted(error: string): void {
    clearTimeout(this.timer);
    const cause = this.state.name === 'ending' ? this.state.cause : undefined;
    this.state = { name: 'exited', wasReady: false, cause };
    this.failStart(error);
    const reason = cause ?? 'start_failed';
    this.say({ type: 'ended', ending: { reason, exitCode: null, signal: null, stderrTail: '' } });
  }

  /** Ends a process that broke the rules; one that was still starting has failed to start. */
  private abort(cause: TerminationReason, reason: PoolFailureReason, message: string): void {
    if (this.usable) this.state = { name: 'ending', wasReady: true, cause };
    this.why ??= message;
    this.conversation.failAll(reason, message);
    this.kill(cause);
  }

  /** A process that stays alive without one of its pipes is of no use. */
  private pipeBroken(): void {
    if (this.state.name !== 'starting' && this.state.name !== 'ready') return;
    this.state = { name: 'broken', wasReady: this.wasReady };
    const message = 'The tool closed its input or its output and went on running';
    const abort = (): void => this.abort('protocol', 'protocol_error', message);
    whenItRunsOn(this.pid, (ms, act) => this.after(ms, act), abort);
  }

  private exited(child: LaunchedProcess, exitCode: number | null, signal: string | null): void {
    clearTimeout(this.timer);
    const cause = this.state.name === 'ending' ? this.state.cause : undefined;
    this.state = { name: 'exited', wasReady: this.wasReady, cause };
    this.output?.readRest(() => {
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
      this.finish(exitCode, signal, cause);
    });
  }

  private finish(exitCode: number | null, signal: string | null, cause: TerminationReason | undefined): void {
    const { wasReady, conversation, why } = this;
    const clean = wasReady && exitCode === 0 && conversation.size === 0;
    const reason = cause ?? conversation.givenUp ?? (clean ? 'exit' : wasReady ? 'crash' : 'start_failed');
    const ending: Ending = { reason, exitCode, signal, stderrTail: this.stderrTail(), why };
    const how = signal === null ? `ended with exit code ${exitCode}` : `was ended by ${signal}`;
    conversation.failAll(
      'tool_crashed',
      wasReady ? `The tool ${how} before it answered` : `It ${how} before it answered "initialize"`,
      ending,
    );
    this.say({ type: 'ended', ending });
  }

  private after(ms: number, act: () => void): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(act, ms);
  }
}
