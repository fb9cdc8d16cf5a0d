import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Clock } from '../../../src/base/common/clock.js';
import { loadConfig } from '../../../src/base/config/app-config.js';
import {
  DataStorageClient,
  type DataStorageSettings,
} from '../../../src/agents/playbook-search/data-storage/data-storage-client.js';
import { noTracer } from '../../../src/base/observability/tracing/tracer.js';
import { UpstreamFailure } from '../../../src/base/outbound/upstream-failure.js';
import { DataStorageServer } from '../../support/data-storage.js';
import type { Fault } from './faults.js';

/** A twentieth of the real times. */
export const scaledTimes = { timeoutMs: 100, deadlineMs: 250, pauseMs: 5 };
/** Of faults that show at once: a busy machine must not make time-outs of them. */
export const quickTimes = { timeoutMs: 10_000, deadlineMs: 20_000, pauseMs: 2 };
export const realTimes = { timeoutMs: 2_000, deadlineMs: 5_000, pauseMs: 100 };
/** Nobody listens there, and unlike a port that was free a moment ago it is given to nobody. */
const closedPort = 1;
const never = new AbortController().signal;
const nothing = (): void => undefined;

/** How one question ended. */
export interface Ending {
  readonly kind: string;
  /** Of the failure; 0 for an answer. */
  readonly tries: number;
  readonly tookMs: number;
}

/** A Data Storage service, and clients of it. */
export class Rig {
  private readonly clients: DataStorageClient[] = [];
  private asked = 0;
  private readonly lag = monitorEventLoopDelay({ resolution: 5 });

  private constructor(readonly service: DataStorageServer) {
    this.lag.enable();
  }

  static async start(): Promise<Rig> {
    return new Rig(await DataStorageServer.start());
  }

  /** With the settings of production, but for what is changed. */
  client(place: Fault['place'], changes: Partial<DataStorageSettings>, clock?: Clock): DataStorageClient {
    const { dataStorage } = loadConfig({ DATA_STORAGE_URL: this.urlOf(place) });
    if (!dataStorage) throw new Error('no Data Storage service is configured');
    const client = new DataStorageClient(
      { ...dataStorage, ...changes },
      { tried: nothing, answered: nothing, circuitChanged: nothing },
      noTracer,
      clock,
    );
    this.clients.push(client);
    return client;
  }

  /** A question that nobody has asked before. */
  questionOf({ mode }: Pick<Fault, 'mode'>): string {
    return `fault:${mode ?? 'ok'} ${++this.asked}`;
  }

  async ask(client: DataStorageClient, query: string): Promise<Ending> {
    const begun = performance.now();
    const took = (): number => performance.now() - begun;
    try {
      await client.searchPlaybooks({ query, similarityThreshold: 0.7, limit: 5, labels: {} }, never);
      return { kind: 'ok', tries: 0, tookMs: took() };
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      return { kind: error.kind, tries: error.tries, tookMs: took() };
    }
  }

  /** Requests that arrived, by question. */
  async arrivals(): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    for (const { url } of await this.service.requests()) {
      const query = new URL(url, this.service.url).searchParams.get('query') ?? '';
      counts.set(query, (counts.get(query) ?? 0) + 1);
    }
    return counts;
  }

  /** What a busy machine may add to any time: its longest pause of this process so far, several times over. */
  graceMs(): number {
    return 100 + 4 * (this.lag.max / 1e6);
  }

  async stop(): Promise<void> {
    this.lag.disable();
    await Promise.all(this.clients.map((client) => client.onApplicationShutdown()));
    await this.service.stop();
  }

  private urlOf(place: Fault['place']): string {
    switch (place) {
      case 'service':
        return this.service.url;
      case 'closed_port':
        return `http://127.0.0.1:${closedPort}`;
      case 'no_such_host':
        return 'http://data-storage.invalid';
    }
  }
}
