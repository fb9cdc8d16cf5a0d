import { LRUCache } from 'lru-cache';

/** Name of a counter: a budget's is project, investigation and tool; a rate's is its key or address. */
export interface CounterKey {
  readonly kind: 'budget' | 'rate';
  readonly project: string;
  readonly subject: string;
  readonly name: string;
}

/** One call to count. */
export interface Take extends CounterKey {
  /** 0: no limit; undefined: the default one. An operator's limit wins. */
  readonly limit: number | undefined;
  /** Milliseconds from a counter's first call until it starts anew. */
  readonly ttlMs: number;
}

/** A counter after a call. */
export interface Taken {
  /** False: the limit is reached, the call was not counted. */
  readonly granted: boolean;
  readonly used: number;
  readonly limit: number;
  /** Milliseconds since the epoch. */
  readonly resetsAt: number;
  /** Takes the call back; at most once. */
  readonly release: () => void;
}

/** Counts calls up to a limit. */
export abstract class Counters {
  abstract take(take: Take): Taken | Promise<Taken>;
}

interface Counter {
  used: number;
  /** The limit as the database had it. */
  readonly limit: number | undefined;
  readonly resetsAt: number;
}

/** The least recently used make room. */
const maxCounters = 100_000;

/** Counters in the memory of this process. */
export class LocalCounters extends Counters {
  private readonly counters = new LRUCache<string, Counter>({ max: maxCounters });

  constructor(private readonly defaultLimit: number) {
    super();
  }

  override take(take: Take): Taken {
    const counter = this.open(take);
    const limit = counter.limit ?? take.limit ?? this.defaultLimit;
    const granted = limit === 0 || counter.used < limit;
    if (granted) counter.used += 1;
    const release = (): void => void (counter.used -= 1);
    return { granted, limit, used: counter.used, resetsAt: counter.resetsAt, release };
  }

  /** Sets a counter to what the database said. */
  set(key: CounterKey, { used, limit, resetsAt }: Omit<Taken, 'granted' | 'release'>): void {
    // A rate's limit comes with each call.
    this.counters.set(textOf(key), { used, limit: key.kind === 'budget' ? limit : undefined, resetsAt });
  }

  private open(take: Take): Counter {
    const known = this.counters.get(textOf(take));
    if (known && known.resetsAt > Date.now()) return known;
    const counter = { used: 0, limit: undefined, resetsAt: Date.now() + take.ttlMs };
    this.counters.set(textOf(take), counter);
    return counter;
  }
}

export const textOf = ({ kind, project, subject, name }: CounterKey): string =>
  JSON.stringify([kind, project, subject, name]);
