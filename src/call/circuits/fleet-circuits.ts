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

/** Time for which only one replica may probe; the same as the shortest opening. */
const leaseMs = 30_000;
/** Pause before asking again, if another replica probes. */
const deniedPauseMs = 1_000;
/** Max wait for the journal, because an unavailable database must not delay decisions here. */
const flushMs = 500;
/** Max queries of the fleet's window per second and tool. */
const maxQueriesPerSecond = 4;
/** Number of changes that are read again after the start. */
const overlap = 100;

/** Applies a change of another replica. @param probingMs time for which that replica may probe */
type Adopt = (transition: CircuitTransition, probingMs: number) => void;

/** Takes the lease of a tool's probe, unless another replica has it. Parameters: tool, replica, milliseconds. */
const insertLease = `
  INSERT INTO circuit_probes AS held (tool, replica, held_until)
  VALUES ($1, $2, now() + $3 * interval '1 millisecond')
  ON CONFLICT (tool) DO UPDATE SET replica = excluded.replica, held_until = excluded.held_until
  WHERE held.held_until <= now() OR held.replica = excluded.replica
  RETURNING 1`;

/**
 * Circuits of all replicas on one database. Faults of all replicas are counted together, after a fault at this one. The other
 * replicas adopt changes by one replica or its operator, and one replica probes. Without the database each replica decides
 * alone. With the embedded database there is one replica, and this class is off.
 */
@Injectable()
export class FleetCircuits {
  /** Queries of the fleet's window in the last second, by tool. */
  private readonly recentQueries = new LocalCounters(maxQueriesPerSecond);
  /** Requests for a lease under way, by tool. */
  private readonly takingLease = new SingleFlight<void>();
  /** By tool: whether this replica may probe it, and until when that is valid, in milliseconds since the epoch. */
  private readonly leases = new Map<string, { readonly granted: boolean; readonly until: number }>();
  /** Sequence number of the last change that was read. */
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

  get replica(): string {
    return this.replicas.id;
  }

  follow(adopt: Adopt): void {
    const followed = { table: 'circuit_transitions', what: 'circuits' };
    this.follower.follow(followed, () => this.readChanges(adopt));
  }

  /**
   * Calls and faults of all replicas; undefined without the database.
   * @param isUrgent if false, also undefined after too many queries in the last second
   */
  async countFaults(
    tool: string,
    since: number,
    { isUrgent }: { readonly isUrgent: boolean },
  ): Promise<WindowCounts | undefined> {
    const counter = { kind: 'rate', project: '', subject: tool, name: '' } as const;
    const { granted } = this.recentQueries.take({ ...counter, limit: maxQueriesPerSecond, ttlMs: 1_000 });
    if (!isUrgent && !granted) return undefined;
    try {
      // Waits until the present fault is stored, so that this query and those of other replicas count it.
      await nextTurn();
      await endsWithin(flushMs, this.recorder.flush());
      return await this.metrics.getFaultCounts(tool, new Date(since));
    } catch {
      // Without the database the replica's own window decides.
      return undefined;
    }
  }

  mayProbe(tool: string): boolean {
    const lease = this.leases.get(tool);
    return lease !== undefined && lease.granted && lease.until > Date.now();
  }

  /** Tries to become the replica that probes; undefined if that is decided already. */
  takeLease(tool: string): Promise<void> | undefined {
    const lease = this.leases.get(tool);
    if (lease && lease.until > Date.now()) return undefined;
    return this.takingLease.join(tool, async () => {
      const asked = this.db.query<unknown[]>(insertLease, [tool, this.replica, leaseMs]);
      // Without the database each replica probes.
      const granted = await asked.then(
        (rows) => rows.length > 0,
        () => true,
      );
      this.leases.set(tool, { granted, until: Date.now() + (granted ? leaseMs : deniedPauseMs) });
    });
  }

  /** Stores a change so that the other replicas adopt it. @throws the database's error */
  write(transition: CircuitTransition): Promise<void> {
    return this.transitions.insert([transition]);
  }

  /** Adopts the changes that other replicas made since the last time. */
  private async readChanges(adopt: Adopt): Promise<void> {
    // The first read overlaps with that of the start, so that no change is missed in between.
    this.seenSeq ??= Math.max(0, (await this.transitions.lastSeq()) - overlap);
    for (const { seq, ...transition } of await this.transitions.since(this.seenSeq)) {
      this.seenSeq = Math.max(this.seenSeq, seq);
      if (transition.replica !== this.replica) adopt(transition, leaseMs);
    }
  }
}
