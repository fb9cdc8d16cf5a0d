import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Json } from '../support/json.js';
import { childrenOf } from '../support/processes.js';
import { type ServerProcess, startServer } from '../support/server-process.js';
import { until } from '../support/wait.js';
import { commandLineOf } from '../../src/base/common/process-identity.js';
import type { Ending } from './fault.js';

/** What came back for one request. */
export interface Answer {
  readonly status: number;
  readonly body: Json;
  readonly tookMs: number;
}

export interface MemorySample {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  /** What the heaps of the other threads hold. */
  readonly inThreads: number;
}

const maxEndMs = 60_000;

/** The built server as a process of its own, and what can be asked of it from outside. */
export class Gateway {
  private readonly probeFile: string;
  private server: ServerProcess | undefined;

  /** @param folder its data; @param copies of the tool; @param variables its configuration beyond what the suite needs */
  constructor(
    private readonly folder: string,
    private readonly copies: string,
    private readonly variables: Record<string, string>,
  ) {
    this.probeFile = join(folder, 'memory.json');
  }

  async start(): Promise<void> {
    const probe = pathToFileURL(join(process.cwd(), 'test/chaos/memory-probe.mjs')).href;
    const variables = {
      TOOLKEEPER_DATA_DIR: this.folder,
      CUSTOM_TOOLS_DIR: this.copies,
      // The tool, and the copies of it that are made to fail.
      CUSTOM_TOOLS_ALLOWED_ROOTS: [join(process.cwd(), 'test/chaos'), this.copies].join(','),
      CUSTOM_TOOLS_ALLOWED_ENV: 'CHAOS_*',
      // What cleans up behind a tool must not need a sandbox.
      SANDBOX: 'off',
      // Faults are the point: no circuit may open.
      CIRCUIT_FAILURES: '10000',
      CIRCUIT_MIN_FAILURE_RATE: '1',
      CHAOS_PROBE: this.probeFile,
      NODE_OPTIONS: `--import=${probe}`,
      ...this.variables,
    };
    // With everything else that goes on a start takes its time.
    this.server = await startServer(variables, 120_000);
  }

  get pid(): number {
    return this.running.child.pid as number;
  }

  log(): string {
    return this.server?.log() ?? '';
  }

  /** The process that starts tools for it, if it has one. */
  get spawnerPid(): number | undefined {
    return childrenOf(this.pid).find((pid) =>
      /toolkeeper-spawner|native\/bin\/spawner/.test(commandLineOf(pid).join(' ')),
    );
  }

  /** @throws Error when it does not end within a minute; it is killed then */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { server } = this;
    this.server = undefined;
    if (!server) return;
    const tooLong = setTimeout(() => server.child.kill('SIGKILL'), maxEndMs);
    const code = await server.end(signal);
    clearTimeout(tooLong);
    if (signal === 'SIGTERM' && code === null)
      throw new Error(`The server did not end within ${maxEndMs} ms`);
  }

  /** @param timeoutMs when a request without an answer is given up */
  async request(method: string, path: string, body?: unknown, timeoutMs = 30_000): Promise<Answer> {
    const began = performance.now();
    const response = await fetch(`${this.running.url}/api/v1/${path}`, {
      method,
      signal: AbortSignal.timeout(Math.ceil(timeoutMs)),
      headers: { ...this.running.key, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const tookMs = performance.now() - began;
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text), tookMs };
  }

  /** Bytes to any path. @returns the status */
  async send(
    path: string,
    type: string,
    body: Buffer,
    headers: Record<string, string> = {},
  ): Promise<number> {
    const response = await fetch(this.running.url + path, {
      method: 'POST',
      headers: { ...this.running.key, 'content-type': type, ...headers },
      body,
    });
    await response.arrayBuffer();
    return response.status;
  }

  /** Memory after a forced collection. */
  async memory(): Promise<MemorySample> {
    rmSync(this.probeFile, { force: true });
    this.running.child.kill('SIGUSR2');
    await until(() => existsSync(this.probeFile), { what: 'the memory probe' });
    return JSON.parse(readFileSync(this.probeFile, 'utf8')) as MemorySample;
  }

  private get running(): ServerProcess {
    if (!this.server) throw new Error('The gateway does not run');
    return this.server;
  }
}

/** How a call ended, in one word: an outcome's error type or a problem's code. */
export function endingOf({ status, body }: Answer): Ending | undefined {
  if (status !== 200) return body?.code as Ending | undefined;
  return body.status === 'success' ? 'success' : (body.error?.type as Ending | undefined);
}
