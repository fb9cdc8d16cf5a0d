import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { protocolVersion, ReplyReader, type SpawnerReply, type ToolReply } from './spawner-protocol.js';

/** A spawner that was told to end kills every tool first. */
const endPatienceMs = 12_000;

export interface LinkOptions {
  /** The program of native/spawner.c. */
  readonly binary: string;
  /** A spawner that owes an answer for this long hangs, and is killed. Default 10 000. */
  readonly patienceMs?: number;
}

export interface LinkObserver {
  ready(): void;
  reply(reply: ToolReply): void;
  /** The last that is said. */
  ended(why: string): void;
}

/** One run of the spawner program, and the talk with it. */
export class SpawnerLink {
  private readonly child: ChildProcessByStdio<Writable, Readable, null>;
  private readonly patienceMs: number;
  private timer: NodeJS.Timeout | undefined;
  private over = false;
  /** It has said that it works. */
  ready = false;

  /**
   * @param mark 16 hexadecimal digits that tools' descendants are found by; the same for a spawner that takes the place
   *   of another
   */
  constructor(
    { binary, patienceMs = 10_000 }: LinkOptions,
    mark: string,
    private readonly observer: LinkObserver,
  ) {
    // Its own session, so that a Ctrl-C reaches it through us only. Its stderr is ours: it writes nothing there.
    this.child = spawn(binary, [mark], {
      cwd: '/',
      env: {},
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.child.on('error', (error) => this.end(`cannot be started: ${error.message}`));
    // Not at its exit: what it said before is still to be read.
    this.child.on('close', (code, signal) => this.end(`ended with ${signal ?? `exit code ${code}`}`));
    this.patienceMs = patienceMs;
    if (this.child.pid === undefined) return;
    const reader = new ReplyReader((reply) => this.take(reply));
    this.child.stdin.on('error', () => undefined);
    this.child.stdout.on('error', () => undefined).on('data', (chunk: Buffer) => reader.push(chunk));
    this.expectReply(true);
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  get alive(): boolean {
    return !this.over && this.child.exitCode === null && this.child.signalCode === null;
  }

  send(frame: Buffer): void {
    if (this.alive) this.child.stdin.write(frame);
  }

  /** Starts or ends the watch over an answer that is due. */
  expectReply(due: boolean): void {
    clearTimeout(this.timer);
    this.timer = due ? setTimeout(() => this.kill(), this.patienceMs) : undefined;
  }

  /** It ends every tool and everything below it, then itself. */
  close(): void {
    clearTimeout(this.timer);
    this.child.stdin.end();
    this.timer = setTimeout(() => this.kill(), endPatienceMs);
  }

  private kill(): void {
    this.child.kill('SIGKILL');
  }

  private take(reply: SpawnerReply): void {
    if (reply.kind !== 'ready') return this.observer.reply(reply);
    if (reply.version !== protocolVersion) return this.kill();
    this.ready = true;
    this.expectReply(false);
    this.observer.ready();
  }

  private end(why: string): void {
    if (this.over) return;
    this.over = true;
    clearTimeout(this.timer);
    this.observer.ended(why);
  }
}
