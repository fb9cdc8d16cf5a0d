import { Inject, Injectable } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { endsWithin } from '../../base/common/abortable.js';
import { SingleFlight } from '../../base/common/single-flight.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { LocalCounters } from '../../base/counters/counters.js';
import { Replicas } from '../../base/database/replicas.js';
import { TableFollower } from '../../base/database/table-follower.js';
import { ExecutionRecorder } from '../../records/executions/execution-recorder.js';
import { ToolMetricsRepository } from '../../records/executions/tool-metrics.repository.js';
import type { WindowCounts } from '../../base/outbound/breaker/sample-ring.js';
import { type CircuitTransition, CircuitTransitionsRepository } from './circuit-transitions.repository.js';

/** How long one replica alone may probe; the others may take over then. The shortest opening lasts as long. */
const leaseMs = 30_000;
/** Pause after another replica was found to probe. */
const deniedMs = 1_000;
/** A database that is away must not hold up what is decided here. */
const flushMs = 500;
/** Questions for the fleet's window, at most so many a second for each tool. */
const maxQuestions = 4;

/** Changes that are read twice at the start. */
const overlap = 100;

type Adopt = (transition: CircuitTransition, probingMs: number) => void;

const takeLease = `
  INSERT INTO circuit_probes AS held (tool, replica, held_until)
  VALUES ($1, $2, now() + $3 * interval '1 millisecond')
  ON CONFLICT (tool) DO UPDATE SET replica = excluded.replica, held_until = excluded.held_until
  WHERE held.held_until <= now() OR held.replica = excluded.replica
  RETURNING 1`;

/**
 * The circuits of all replicas on one database. Faults of all replicas are counted together, asked for only when a fault
 * happens here; what one replica decides, or an operator does at it, the others adopt; one replica probes. Without the
 * database each replica decides alone. With the embedded database there is one replica, and none of this.
 */
@Injectable()
export class FleetCircuits {
  /** How often the fleet's window was asked for. */
  private readonly questions = new LocalCounters(maxQuestions);
  private readonly takes = new SingleFlight<void>();
  /** Until when this replica may probe a tool, or must not ask again; milliseconds since the epoch. */
  private readonly leases = new Map<string, { readonly granted: boolean; readonly until: number }>();
  private seenSeq: number | undefined;

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'database'>,
    @InjectDataSource() private readonly db: DataSource,
    private readonly transitions: CircuitTransitionsRepository,
    private readonly metrics: ToolMetricsRepository,
    private readonly recorder: ExecutionRecorder,
    private readonly replicas: Replicas,
    private readonly follower: TableFollower,
  ) {}

  /** Whether replicas may share the database. */
  get isOn(): boolean {
    return this.config.database.url !== undefined;
  }

  /** @param adopt takes over a change by another replica, and how long that may probe */
  follow(adopt: Adopt): void {
    const followed = { table: 'circuit_transitions', what: 'circuits' };
    this.follower.follow(followed, () => this.look(adopt));
  }

  /** Id of this replica. */
  get replica(): string {
    return this.replicas.id;
  }

  /**
   * Calls and faults of all replicas; undefined if that cannot be found out.
   * @param urgent false: also undefined if it was asked for often in the last second
   */
  async countFaults(tool: string, since: number, urgent: boolean): Promise<WindowCounts | undefined> {
    const question = { kind: 'rate', project: '', subject: tool, name: '' } as const;
    const { granted } = this.questions.take({ ...question, limit: maxQuestions, ttlMs: 1_000 });
    if (!urgent && !granted) return undefined;
    try {
      // The fault that led here is in the journal a moment later; it must be counted, and others be able to count it.
      await nextTurn();
      await endsWithin(flushMs, this.recorder.flush());
      return await this.metrics.getFaultCounts(tool, new Date(since));
    } catch {
      // Without the database the replica's own window decides.
      return undefined;
    }
  }

  /** Whether this replica is the one that probes. */
  mayProbe(tool: string): boolean {
    const lease = this.leases.get(tool);
    return lease !== undefined && lease.granted && lease.until > Date.now();
  }

  /** Asks to be the one that probes; undefined: that is decided. */
  takeLease(tool: string): Promise<void> | undefined {
    const lease = this.leases.get(tool);
    if (lease && lease.until > Date.now()) return undefined;
    return this.takes.join(tool, async () => {
      const asked = this.db.query<unknown[]>(takeLease, [tool, this.replica, leaseMs]);
      // Without the database each replica probes.
      const granted = await asked.then(
        (rows) => rows.length > 0,
        () => true,
      );
      this.leases.set(tool, { granted, until: Date.now() + (granted ? leaseMs : deniedMs) });
    });
  }

  /** Stores a change so that the other replicas adopt it. @throws the database's error */
  write(transition: CircuitTransition): Promise<void> {
    return this.transitions.insert([transition]);
  }

  private async look(adopt: Adopt): Promise<void> {
    // The first time it reads some again that the start has read, so that none is between the two.
    this.seenSeq ??= Math.max(0, (await this.transitions.lastSeq()) - overlap);
    for (const { seq, ...transition } of await this.transitions.since(this.seenSeq)) {
      this.seenSeq = Math.max(this.seenSeq, seq);
      if (transition.replica !== this.replica) adopt(transition, leaseMs);
    }
  }
}
