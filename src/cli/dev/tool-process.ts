import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { LineFramer } from '../../process-pool/line-framer.js';
import type { Executable } from '../project.js';

/** What is heard of a tool while it runs. */
interface Listener {
  sent(line: string): void;
  received(line: string): void;
  logged(line: string): void;
  /** @param why how it ended, or why it did not start */
  ended(why: string): void;
}

interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

const maxLineBytes = 4_194_304;

/** One process of a tool under development: no pool, no sandbox, one request at a time. */
export class ToolProcess {
  private readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  private readonly waiting = new Map<string, (answer: Answer | undefined) => void>();
  private requests = 0;
  private stopped = false;

  constructor(
    { command, args, workingDir, env }: Executable,
    environment: Readonly<Record<string, string>>,
    private readonly listener: Listener,
  ) {
    this.child = spawn(command, args, {
      cwd: workingDir,
      env: { ...environment, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      // Its own group: what it starts ends with it.
      detached: true,
    });
    this.child.stdin.on('error', () => undefined);
    this.child.once('error', ({ message }) => this.end(message));
    this.child.once('exit', (code, signal) => this.end(signal ?? `exit code ${code}`));
    framed(this.child.stdout, (line) => this.take(line));
    framed(this.child.stderr, (line) => listener.logged(line));
  }

  /** @returns undefined where the tool ended, or took longer */
  async ask(method: string, params: object, timeoutMs: number): Promise<Answer | undefined> {
    const id = String(++this.requests);
    const line = JSON.stringify({ jsonrpc: '2.0', id, method, params });
    this.listener.sent(line);
    const { promise, resolve } = Promise.withResolvers<Answer | undefined>();
    this.waiting.set(id, resolve);
    this.child.stdin.write(`${line}\n`);
    const timer = setTimeout(() => {
      this.listener.ended(`no answer within ${timeoutMs} ms`);
      this.stop();
    }, timeoutMs);
    return promise.finally(() => clearTimeout(timer));
  }

  get isRunning(): boolean {
    return !this.stopped;
  }

  /** Nothing more is heard of it. */
  stop(): void {
    this.finish();
    try {
      if (this.child.pid !== undefined) process.kill(-this.child.pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
  }

  private take(line: string): void {
    this.listener.received(line);
    const { id, ...answer } = parsed(line);
    // As the server does, who takes the same digits as a number, too.
    const resolve = this.waiting.get(String(id));
    if (!resolve) return;
    this.waiting.delete(String(id));
    resolve(answer);
  }

  private end(why: string): void {
    if (!this.stopped) this.listener.ended(why);
    this.finish();
  }

  private finish(): void {
    this.stopped = true;
    for (const resolve of this.waiting.values()) resolve(undefined);
    this.waiting.clear();
  }
}

function parsed(line: string): Answer & { readonly id?: unknown } {
  try {
    return JSON.parse(line) as Answer & { id?: unknown };
  } catch {
    return {};
  }
}

function framed(stream: Readable, each: (line: string) => void): void {
  const framer = new LineFramer(maxLineBytes, {
    line: (text) => {
      if (text.trim() !== '') each(text);
      return true;
    },
    overflow: () => each(`(a line of more than ${maxLineBytes} bytes)`),
  });
  stream.on('data', (chunk: Buffer) => framer.push(chunk));
  stream.on('end', () => framer.end());
}
