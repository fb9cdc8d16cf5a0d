import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** How the service answers; its script says what each does. */
export type DataStorageMode =
  | 'ok'
  | 'refused'
  | 'reset'
  | 'black_hole'
  | 'drip'
  | 'slow'
  /** Answers when it is told to behave otherwise. */
  | 'held'
  | 'server_error'
  | 'unavailable'
  | 'rate_limited'
  | 'rejected'
  | 'redirect'
  | 'invalid_json'
  | 'wrong_schema'
  | 'huge'
  | 'huge_announced';

export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly authorization?: string;
  readonly traceparent?: string;
  readonly body?: Record<string, unknown>;
  /** Milliseconds since 1970. */
  readonly at: number;
}

interface ModeOptions {
  /** Header `Retry-After` of `unavailable` and `rate_limited`. */
  readonly retryAfter?: string;
  /** Of `slow`. */
  readonly delayMs?: number;
  /** Modes of the next requests, before `mode` rules. */
  readonly script?: readonly DataStorageMode[];
}

const script = join(process.cwd(), 'test', 'fixtures', 'data-storage', 'server.mjs');

/** A Data Storage service in a process of its own, told how to behave. */
export class DataStorageServer {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
    private readonly control: string,
  ) {}

  static async start(): Promise<DataStorageServer> {
    const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface({ input: child.stdout });
    const [line] = (await once(lines, 'line')) as [string];
    const { url, control } = JSON.parse(line) as { url: string; control: string };
    return new DataStorageServer(child, url, control);
  }

  async behave(mode: DataStorageMode, options: ModeOptions = {}): Promise<void> {
    await this.tell('PUT', { mode, ...options });
  }

  /** What has arrived since the last `forget`. */
  async requests(): Promise<ReceivedRequest[]> {
    return (await this.tell('GET')).requests;
  }

  async forget(): Promise<void> {
    await this.tell('DELETE');
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.stdin?.end();
    await ended;
  }

  private async tell(method: string, body?: object): Promise<{ requests: ReceivedRequest[] }> {
    const response = await fetch(this.control, { method, body: body && JSON.stringify(body) });
    return (await response.json()) as { requests: ReceivedRequest[] };
  }
}
