import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { protocolVersion, ReplyReader, type SpawnerReply, type ToolReply } from './spawner-protocol.js';

/** Spawners in a row that may die before they work; then none is started any more. */
const mostFailures = 3;
const failurePauseMs = 100;
/** A spawner that was told to end kills every tool first. */
const endTimeoutMs = 12_000;

export interface SpawnerOptions {
  /** The program of native/spawner.c. */
  readonly binary: string;
  /** A spawner that owes an answer for this long hangs, and is killed. Default 10 000. */
  readonly timeoutMs?: number;
}

export interface SpawnerObserver {
  /** A spawner works and takes requests; the first one, or one in place of another. */
  ready(): void;
  reply(reply: ToolReply): void;
  /** A spawner has died, and its tools with it. Questions that it did not answer stay unanswered. */
  lost(pid: number | undefined, why: string): void;
  /** None can be had here; the last that is said. */
  unusable(why: string): void;
}

/** One run of the program. */
interface Run {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  /** It has said that it works. */
  ready: boolean;
}

/** A spawner that is always there: one that dies is replaced at once. */
export class Spawner {
  /** The mark by which tools' descendants are found; the same for a spawner that takes the place of another. */
  private readonly mark = newMark();
  private run: Run | undefined;
  private failures = 0;
  /** The timer of an answer that is due, of the pause before the next try, or of the end. */
  private timer: NodeJS.Timeout | undefined;
  private started = false;
  private closing: PromiseWithResolvers<void> | undefined;
  /** Spawners that took the place of one that died. */
  restarts = 0;

  constructor(
    private readonly options: SpawnerOptions,
    private readonly observer: SpawnerObserver,
  ) {}

  /** It takes requests. */
  get ready(): boolean {
    const { run } = this;
    return run?.ready === true && run.child.exitCode === null && run.child.signalCode === null;
  }

  get pid(): number | undefined {
    return this.run?.child.pid;
  }

  /** Starts it, once. */
  start(): void {
    if (this.started || this.closing) return;
    this.started = true;
    this.open();
  }

  send(frame: Buffer): void {
    if (this.ready) this.run?.child.stdin.write(frame);
  }

  /** Whether it owes an answer: it must not hang over it. */
  owes(anything: boolean): void {
    if (this.ready) this.expectReply(anything);
  }

  /** It ends every tool and everything below them, then itself; resolves when it is gone. */
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
    // Its own session, so that a Ctrl-C reaches it through us only. Its stderr is ours: it writes nothing there.
    const child = spawn(this.options.binary, [this.mark], {
      cwd: '/',
      env: {},
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const run: Run = { child, ready: false };
    this.run = run;
    child.on('error', (error) => this.ended(run, `cannot be started: ${error.message}`));
    // Not at its exit: what it said before is still to be read.
    child.on('close', (code, signal) => this.ended(run, `ended with ${signal ?? `exit code ${code}`}`));
    if (child.pid === undefined) return;
    const reader = new ReplyReader((reply) => this.take(run, reply));
    child.stdin.on('error', () => undefined);
    child.stdout.on('error', () => undefined).on('data', (chunk: Buffer) => reader.push(chunk));
    this.expectReply(true);
  }

  private expectReply(due: boolean): void {
    if (this.closing) return;
    clearTimeout(this.timer);
    this.timer = due ? setTimeout(() => this.kill(), this.options.timeoutMs ?? 10_000) : undefined;
  }

  private kill(): void {
    this.run?.child.kill('SIGKILL');
  }

  private take(run: Run, reply: SpawnerReply): void {
    if (reply.kind !== 'ready') return this.observer.reply(reply);
    if (reply.version !== protocolVersion) return this.kill();
    run.ready = true;
    this.failures = 0;
    this.expectReply(false);
    this.observer.ready();
  }

  private ended(run: Run, why: string): void {
    // An error may be followed by its close.
    if (this.run !== run) return;
    this.run = undefined;
    clearTimeout(this.timer);
    const { pid } = run.child;
    if (this.closing) {
      this.observer.lost(pid, why);
      return this.closing.resolve();
    }
    if (!run.ready && ++this.failures >= mostFailures) return this.observer.unusable(why);
    this.restarts++;
    // One that worked is replaced before anybody hears of its death.
    if (run.ready) this.open();
    else this.timer = setTimeout(() => this.open(), failurePauseMs * this.failures);
    this.observer.lost(pid, why);
  }
}

/** Far above every limit that a system sets; a tool's is this plus its id, so the lower half is free. */
function newMark(): string {
  return `2${randomBytes(4).toString('hex').slice(1)}00000000`;
}
