import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { type ServerProcess, startServer } from '../../support/server-process.js';
import { pace } from '../../support/pace.js';
import { makeTestFolder } from '../../support/test-folder.js';
import { until } from '../../support/wait.js';
import type { Ledger } from './ledger.js';
import { OwnPostgres } from './own-postgres.js';

const startWithinMs = 120_000;
const drainWithinMs = 90_000;

/** A gateway with a journal and a PostgreSQL of its own. Two tools: `quick` answers at once, `held` after a minute. */
export class Rig {
  readonly folder = makeTestFolder();
  readonly db = new OwnPostgres(this.folder);
  readonly crashFile = join(this.folder, 'crash');
  journal = join(this.folder, 'journal');
  private server: ServerProcess | undefined;
  private readonly loads: (() => void)[] = [];

  async open(variables: Record<string, string> = {}): Promise<void> {
    mkdirSync(this.journal, { recursive: true });
    await this.db.start();
    await this.start(variables);
    await this.register('quick', 3);
    await this.register('held', 1);
  }

  async close(): Promise<void> {
    for (const end of this.loads) end();
    await this.kill();
    await this.db.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  get url(): string {
    return this.gateway.url;
  }

  get gateway(): ServerProcess {
    if (!this.server) throw new Error('The gateway does not run');
    return this.server;
  }

  variables(more: Record<string, string> = {}): Record<string, string> {
    const loaded = pathToFileURL(join(process.cwd(), 'test/chaos/recording/crash-drain.mjs')).href;
    return {
      DATABASE_URL: this.db.url,
      TOOLKEEPER_DATA_DIR: this.folder,
      CUSTOM_TOOLS_DIR: this.folder,
      CUSTOM_TOOLS_ALLOWED_ROOTS: process.cwd(),
      SANDBOX: 'off',
      CUSTOM_TOOLS_MAX_QUEUE: '2000',
      JOURNAL_DIR: this.journal,
      NODE_OPTIONS: `--import=${loaded}`,
      CHAOS_CRASH: this.crashFile,
      ...more,
    };
  }

  async start(variables: Record<string, string> = {}): Promise<void> {
    this.server = await startServer(this.variables(variables), startWithinMs);
  }

  async kill(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    await server?.end('SIGKILL');
  }

  async end(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    await server?.end('SIGTERM');
  }

  /** A figure of /metrics, summed over its labels. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    const lines = text
      .split('\n')
      .filter((line) => line.startsWith(name) && /^[ {]/.test(line.slice(name.length)));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  /** As many at a time as `clients`, until told to stop. @returns a function that stops and waits */
  load(ledger: Ledger, clients: number): () => Promise<void> {
    let going = true;
    this.loads.push(() => (going = false));
    const { url } = this;
    const client = async (): Promise<void> => {
      while (going) {
        await ledger.call(url, 'quick', {});
        // After a refusal or a death there is nothing to hurry for.
        await delay(1);
      }
    };
    const clientsDone = Promise.all(Array.from({ length: clients }, client));
    return async () => {
      going = false;
      await clientsDone;
    };
  }

  /** So many calls a second, whatever becomes of the ones before. @returns a function that stops and waits */
  pace(ledger: Ledger, perSecond: number): () => Promise<void> {
    const { url } = this;
    const stop = pace(perSecond, () => ledger.call(url, 'quick', {}));
    this.loads.push(() => void stop());
    return stop;
  }

  /** @returns the seconds until everything acknowledged by now has its row */
  async drained(ledger: Ledger): Promise<number> {
    const began = performance.now();
    // Under load there is always one more that waits.
    const sessions = ledger.acknowledgedSessions();
    const isDone = (): Promise<boolean> => ledger.haveRows(this.db, sessions);
    try {
      await until(isDone, { timeoutMs: drainWithinMs, what: 'every acknowledged call to have its row' });
    } catch (error) {
      throw new Error(`The gateway said last: ${this.gateway.log().slice(-3_000)}`, { cause: error });
    }
    return (performance.now() - began) / 1_000;
  }

  private async register(name: string, poolSize: number): Promise<void> {
    const response = await fetch(`${this.url}/api/v1/custom-tools`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...this.gateway.key },
      body: JSON.stringify({
        name,
        command: 'node',
        args: [join(process.cwd(), 'test/fixtures/tools/fixture-tool.mjs')],
        description: name,
        keepAlive: true,
        timeoutMs: 300_000,
        poolSize,
      }),
    });
    if (response.status !== 201) throw new Error(`${name}: ${await response.text()}`);
  }
}

export const holding = { action: 'sleep', ms: 60_000 };
