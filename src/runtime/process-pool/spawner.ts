import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { protocolVersion, ReplyReader, type SpawnerReply, type ToolReply } from './spawner-protocol.js';

/** Consecutive failed starts after which the spawner counts as unusable. */
const maxFailures = 3;
/** Pause before the next start, times the number of failures. */
const failurePauseMs = 100;
const defaultTimeoutMs = 10_000;
/** Timeout for the spawner's end, because it kills all tools first. */
const endTimeoutMs = 12_000;

/** Settings of the spawner. */
export interface SpawnerOptions {
  /** Path of the binary built from native/spawner.c. */
  readonly binary: string;
  /** Time after which a spawner that owes an answer is killed. Default 10 000. */
  readonly timeoutMs?: number;
}

/** Callbacks of the spawner's owner. */
interface SpawnerObserver {
  /** Called when a spawner, the first or a replacement, accepts requests. */
  ready(): void;
  /** Called with each answer about a tool. */
  reply(reply: ToolReply): void;
  /** Called when a spawner has died, and its tools with it. Pending requests stay unanswered. */
  lost(pid: number | undefined, why: string): void;
  /** Called last, if no spawner works on this host. */
  unusable(why: string): void;
}

/** One running process of the binary. */
interface Run {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  /** Whether it has reported that it works. */
  ready: boolean;
}

/** Keeps a spawner running and replaces one that dies. */
export class Spawner {
  /** The mark that identifies tools' descendants; a replacement uses the same. */
  private readonly mark = newMark();
  private run: Run | undefined;
  private failures = 0;
  /** Timer for a due answer, for the pause before the next start, or for the end. */
  private timer: NodeJS.Timeout | undefined;
  private started = false;
  private closing: PromiseWithResolvers<void> | undefined;
  /** Number of times that a dead spawner was replaced. */
  restarts = 0;

  constructor(
    private readonly options: SpawnerOptions,
    private readonly observer: SpawnerObserver,
  ) {}

  /** Whether the spawner accepts requests. */
  get ready(): boolean {
    const { run } = this;
    return run?.ready === true && run.child.exitCode === null && run.child.signalCode === null;
  }

  get pid(): number | undefined {
    return this.run?.child.pid;
  }

  /** Starts the spawner; later calls have no effect. */
  start(): void {
    if (this.started || this.closing) return;
    this.started = true;
    this.open();
  }

  /** Sends a request. It is dropped if the spawner is not ready. */
  send(frame: Buffer): void {
    if (this.ready) this.run?.child.stdin.write(frame);
  }

  /** Starts the timeout of an expected answer, or clears it if none is expected. */
  setReplyDue(isDue: boolean): void {
    if (!this.ready) return;
    if (isDue) this.startReplyTimeout();
    else this.clearReplyTimeout();
  }

  /** Ends the spawner, which first ends all tools and their descendants. Resolves when it has exited. */
  close(): Promise<void> {
    if (!this.closing) {
      this.closing = Promise.withResolvers();
      clearTimeout(this.timer);
      if (this.run) {
        this.run.child.stdin.end();
        this.timer = setTimeout(() => this.kill(), endTimeoutMs);
      } else this.closing.resolve();
    }
    return this.closing.promise;
  }

  private open(): void {
    // In its own session, so that Ctrl-C reaches it only through us. It inherits stderr but does not write to it.
    const child = spawn(this.options.binary, [this.mark], {
      cwd: '/',
      env: {},
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const run: Run = { child, ready: false };
    this.run = run;
    child.on('error', (error) => this.onEnd(run, `cannot be started: ${error.message}`));
    // On `close`, not on `exit`: earlier replies may still be in the pipe.
    child.on('close', (code, signal) => this.onEnd(run, `ended with ${signal ?? `exit code ${code}`}`));
    if (child.pid === undefined) return;
    const reader = new ReplyReader((reply) => this.receive(run, reply));
    child.stdin.on('error', () => undefined);
    child.stdout.on('error', () => undefined).on('data', (chunk: Buffer) => reader.push(chunk));
    this.startReplyTimeout();
  }

  private startReplyTimeout(): void {
    this.clearReplyTimeout();
    if (!this.closing) this.timer = setTimeout(() => this.kill(), this.options.timeoutMs ?? defaultTimeoutMs);
  }

  private clearReplyTimeout(): void {
    if (!this.closing) clearTimeout(this.timer);
  }

  private kill(): void {
    this.run?.child.kill('SIGKILL');
  }

  private receive(run: Run, reply: SpawnerReply): void {
    if (reply.kind !== 'ready') return this.observer.reply(reply);
    if (reply.version !== protocolVersion) return this.kill();
    run.ready = true;
    this.failures = 0;
    this.clearReplyTimeout();
    this.observer.ready();
  }

  private onEnd(run: Run, why: string): void {
    // `close` may follow an error.
    if (this.run !== run) return;
    this.run = undefined;
    clearTimeout(this.timer);
    const { pid } = run.child;
    if (this.closing) {
      this.observer.lost(pid, why);
      return this.closing.resolve();
    }
    if (!run.ready && ++this.failures >= maxFailures) return this.observer.unusable(why);
    this.restarts++;
    // A spawner that worked is replaced before its death is reported.
    if (run.ready) this.open();
    else this.timer = setTimeout(() => this.open(), failurePauseMs * this.failures);
    this.observer.lost(pid, why);
  }
}

/** Base of the marks, far above any real limit. A tool's mark is this plus its id, so the lower half is free. */
function newMark(): string {
  return `2${randomBytes(4).toString('hex').slice(1)}00000000`;
}
