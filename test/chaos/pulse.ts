import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { toolFile } from './lanes.js';

const remembered = 20;
const pauseMs = 1_500;

/**
 * How slow the machine is at the moment: how long the same tool takes to start, answer and end without any gateway.
 * What others do on the machine must not look like a gateway that does not answer.
 */
export class Pulse {
  private readonly interpreter = realInterpreter();
  private readonly beats: number[] = [];
  private timer: NodeJS.Timeout | undefined;
  private beating: Promise<void> = Promise.resolve();

  /** @param quietSlackMs what should be at once may take this long on a quiet machine */
  constructor(private readonly quietSlackMs = 5_000) {}

  /** Milliseconds that an answer may be late. */
  get slackMs(): number {
    return this.quietSlackMs + 10 * Math.max(0, ...this.beats);
  }

  start(): void {
    this.timer = setTimeout(() => {
      this.beating = this.beat().then(() => this.start());
    }, pauseMs);
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer);
    await this.beating;
    clearTimeout(this.timer);
  }

  private async beat(): Promise<void> {
    const began = performance.now();
    const child = spawn(this.interpreter, [toolFile], { stdio: ['pipe', 'ignore', 'ignore'] });
    child.stdin.end('{"jsonrpc":"2.0","id":"0","method":"initialize"}\n');
    await once(child, 'exit');
    this.beats.push(performance.now() - began);
    if (this.beats.length > remembered) this.beats.shift();
  }
}

/** python3 itself, the system's first: a version manager's costs 100 ms a start and may be closed to the users of tools. */
export function realInterpreter(): string {
  const env = { ...process.env, PATH: `/usr/bin:${process.env['PATH']}` };
  return execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], {
    encoding: 'utf8',
    env,
  }).trim();
}
