import { LRUCache } from 'lru-cache';
import { TypedEvents } from '../common/typed-events.js';

/** The owner of counters: an investigation of a project, or a key or address with a rate. */
export interface Subject {
  readonly kind: 'budget' | 'rate';
  readonly project: string;
  readonly subject: string;
}

/** One counter of a subject: `name` is a tool, empty for all tools. */
export interface CounterKey extends Subject {
  readonly name: string;
}

/** A request to count one call. */
export interface CountRequest extends CounterKey {
  /** 0: no limit; undefined: the default. An operator's limit takes precedence. */
  readonly limit: number | undefined;
  /** Milliseconds from a subject's first call until its count starts again. */
  readonly ttlMs: number;
}

/** A counter after a call. */
export interface CountResult {
  /** False: the limit is reached, the call was not counted. */
  readonly granted: boolean;
  readonly used: number;
  readonly limit: number;
  /** Milliseconds since the epoch. */
  readonly resetsAt: number;
  /** Uncounts the call. Call it at most once. */
  readonly release: () => void;
}

/** Counts calls up to a limit. */
export abstract class Counters {
  /** Counts a call unless the limit is reached. */
  abstract take(request: CountRequest): CountResult | Promise<CountResult>;

  // Absent if the counts are in the table, which each call reads:
  /** Stores the counts in the table `call_counters`. @throws the database's error */
  store?: () => Promise<void>;
  /** Applies limits, by name, that an operator has set in the table. */
  applyLimits?(subject: Subject, limits: Readonly<Record<string, number>>, resetsAt: number): void;
  /** Resets the counters of a subject whose rows were deleted. */
  forget?(subject: Subject): void;
}

/** A subject in memory, with its counters by name. */
interface SubjectCounters {
  /** Milliseconds since the epoch; 0 after `forget`. */
  resetsAt: number;
  readonly counters: Map<string, Counter>;
}

/** A counter in memory. */
export interface Counter {
  readonly key: CounterKey;
  readonly owner: SubjectCounters;
  used: number;
  /** The operator's limit. */
  setLimit: number | undefined;
  /** The limit of the last call. */
  ownLimit: number | undefined;
  /** Time of the last call. */
  usedAt: number;
}

/** A counter as the database has it. */
export interface StoredCounter {
  readonly used: number;
  /** The limit that applies; null: that of the call, or the default. */
  readonly limit: number | null;
  /** Milliseconds since the epoch. */
  readonly resetsAt: number;
}

const maxSubjects = 100_000;
/** Min pause between two warnings. */
const warnEveryMs = 60_000;

/** Counters in the memory of this process. At most 100,000 subjects of a kind; the least recently used are evicted. */
export class LocalCounters extends Counters {
  private readonly subjects = { budget: this.newCache(), rate: this.newCache() };
  private warnedAt = -Infinity;
  /** Emits each counter of a budget that changes. */
  readonly changes = new TypedEvents<Counter>(() => undefined);

  constructor(
    private readonly defaultLimit: number,
    private readonly warn: (message: string) => void = () => undefined,
  ) {
    super();
  }

  override take(request: CountRequest): CountResult {
    const counter = this.counter(request, Date.now() + request.ttlMs);
    counter.ownLimit = request.limit;
    const { resetsAt, counters } = counter.owner;
    const limit = counter.setLimit ?? request.limit ?? counters.get('')?.setLimit ?? this.defaultLimit;
    const granted = limit === 0 || counter.used < limit;
    if (granted) this.count(counter, 1);
    return { granted, limit, used: counter.used, resetsAt, release: () => this.count(counter, -1) };
  }

  /** Sets a counter to what the database has; a rate's limit comes with each call. */
  set(key: CounterKey, { used, limit, resetsAt }: StoredCounter): void {
    const counter = this.counter(key, resetsAt);
    counter.used = used;
    counter.setLimit = key.kind === 'budget' ? (limit ?? undefined) : undefined;
    counter.owner.resetsAt = resetsAt;
  }

  override applyLimits(subject: Subject, limits: Readonly<Record<string, number>>, resetsAt: number): void {
    for (const [name, limit] of Object.entries(limits))
      this.counter({ ...subject, name }, resetsAt).setLimit = limit;
  }

  override forget(subject: Subject): void {
    const subjects = this.subjects[subject.kind];
    const forgotten = subjects.get(mapKeyOf(subject));
    if (forgotten) forgotten.resetsAt = 0;
    subjects.delete(mapKeyOf(subject));
  }

  private count(counter: Counter, calls: 1 | -1): void {
    counter.used += calls;
    if (calls > 0) counter.usedAt = Date.now();
    // A release after a reset changes nothing.
    if (counter.key.kind === 'budget' && counter.owner.resetsAt > 0) this.changes.emit(counter);
  }

  /** The counter of a key; a new one if there is none, or if its subject's time is over. */
  private counter({ kind, project, subject, name }: CounterKey, resetsAt: number): Counter {
    const mapKey = mapKeyOf({ kind, project, subject });
    let owner = this.subjects[kind].get(mapKey);
    if (!owner || owner.resetsAt <= Date.now()) {
      owner = { resetsAt, counters: new Map() };
      this.subjects[kind].set(mapKey, owner);
    }
    let counter = owner.counters.get(name);
    if (!counter) {
      const key = { kind, project, subject, name };
      counter = { key, owner, used: 0, setLimit: undefined, ownLimit: undefined, usedAt: 0 };
      owner.counters.set(name, counter);
    }
    return counter;
  }

  private newCache(): LRUCache<string, SubjectCounters> {
    return new LRUCache<string, SubjectCounters>({
      // A size, because `max` would allocate arrays for all subjects at once.
      maxSize: maxSubjects,
      sizeCalculation: () => 1,
      dispose: ({ resetsAt }, _key, reason) => {
        const now = Date.now();
        if (reason !== 'evict' || resetsAt <= now || now - this.warnedAt < warnEveryMs) return;
        this.warnedAt = now;
        this.warn(`More than ${maxSubjects} are counted at once: the least recently used lose their count`);
      },
    });
  }
}

/** A subject or counter as a key of a map. */
export const mapKeyOf = ({ kind, project, subject, name }: Subject & { readonly name?: string }): string =>
  JSON.stringify([kind, project, subject, name]);
