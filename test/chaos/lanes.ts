import { join } from 'node:path';

/** A registered tool whose calls are made one after another, each with honest calls beside it. */
export interface Lane {
  readonly name: string;
  /** Members of its registration. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Several requests share a process. */
  readonly shared: boolean;
  /** A call that failed is run again, at most once. */
  readonly retried: boolean;
  /** Every call gets a process of its own. */
  readonly oneShot: boolean;
  readonly maxProcesses: number;
}

export const toolFile = join(process.cwd(), 'test/chaos/faulty-tool.py');

/** Between the attempts of a retried call. */
export const retryDelayMs = 10;

const usual = { shared: false, retried: false, oneShot: false, maxProcesses: 2 };

/** The configurations that every kind of fault meets. */
export const lanes: readonly Lane[] = [
  { ...usual, name: 'plain', settings: { keepAlive: true, poolSize: 2 } },
  {
    ...usual,
    name: 'shared',
    settings: { keepAlive: true, poolSize: 1, maxConcurrency: 8, env: { CHAOS_THREADS: '1' } },
    shared: true,
    maxProcesses: 1,
  },
  {
    ...usual,
    name: 'one_shot',
    settings: { keepAlive: false, poolSize: 2 },
    oneShot: true,
    // A spare one is started ahead, beside those that run.
    maxProcesses: 3,
  },
  {
    ...usual,
    name: 'retried',
    settings: {
      keepAlive: true,
      poolSize: 2,
      maxRetries: 1,
      retryDelayMs,
      annotations: { idempotent: true },
    },
    retried: true,
  },
];

/** For kinds that need a tool to themselves. */
export function ownLane(name: string, poolSize = 2): Lane {
  return { ...usual, name, settings: { keepAlive: true, poolSize }, maxProcesses: poolSize };
}
