import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { toolFile } from './lanes.js';

/** What should be at once may take this long on a quiet machine. */
const quietSlackMs = 5_000;
const remembered = 60;
const pauseMs = 500;

/**
 * How slow the machine is at the moment: how long the same tool takes to start, answer and end without any gateway.
 * What others do on the machine must not look like a gateway that does not answer.
 */
export class Pulse {
  private readonly beats: number[] = [];
  private timer: NodeJS.Timeout | undefined;
  private beating: Promise<void> = Promise.resolve();

  /** Milliseconds that an answer may be late. */
  get slackMs(): number {
    return quietSlackMs + 10 * Math.max(0, ...this.beats);
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
    const child = spawn('python3', [toolFile], { stdio: ['pipe', 'ignore', 'ignore'] });
    child.stdin.end('{"jsonrpc":"2.0","id":"0","method":"initialize"}\n');
    await once(child, 'exit');
    this.beats.push(performance.now() - began);
    if (this.beats.length > remembered) this.beats.shift();
  }
}
