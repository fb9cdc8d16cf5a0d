import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { InjectDataSource } from '@nestjs/typeorm';
import type { Server } from 'node:http';
import { hostname, networkInterfaces } from 'node:os';
import type { DataSource } from 'typeorm';
import { isDatabaseUnavailable } from '../common/errors.js';
import { IntervalLoop } from '../common/interval-loop.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { TypedEvents } from '../common/typed-events.js';
import { Contributors, type PartHealth } from '../observability/contributors.js';
import { DatabaseHealth } from './database-health.js';

/** Interval of heartbeats. */
const beatMs = 5_000;
/** SQL condition: the last heartbeat of a replica is recent. */
const aliveCondition = `seen_at > now() - interval '15 seconds'`;

/** SQL for the name of a row of `replicas`. */
export const replicaName = `host || coalesce(substring(address from ':[0-9]+$'), '')`;

/** Another replica, as of this one's last heartbeat. */
export interface Sibling {
  readonly id: string;
  readonly name: string;
  readonly isAlive: boolean;
}

/** A server on this database. */
export interface Replica {
  readonly id: string;
  /** Host and port, so that several on one host differ. */
  readonly name: string;
  readonly host: string;
  readonly version: string;
  /** Base URL at which other replicas reach it. */
  readonly address: string | null;
  /** Tier of its sandbox. */
  readonly tier: number | null;
  readonly startedAt: Date;
  readonly seenAt: Date;
  /** Time of the last heartbeat of a silent replica, which may still serve; null if it is alive. */
  readonly silentSince: Date | null;
  /** The parts of its readiness. */
  readonly parts: Readonly<Record<string, PartHealth>>;
}

/** The advisory lock of the elected replica (`keepsHouse`): 'housekep' in ASCII, to avoid the keys of other programs. */
const houseLock = 0x686f7573656b6570n;

/**
 * Statement that writes a heartbeat. A new replica, or one that was silent, notifies the others, so that they count it at
 * once. A new one replaces the row of one that was killed; other silent replicas are listed for an hour.
 */
const writeBeat = `
  WITH gone AS (
         DELETE FROM replicas
         WHERE seen_at < now() - interval '1 hour' OR (host = $2 AND address = $4 AND id <> $1)
       ),
       orphaned_conditions AS (DELETE FROM tool_conditions WHERE replica NOT IN (SELECT id FROM replicas UNION SELECT $1))
  INSERT INTO replicas (id, host, version, address, tier, started_at, seen_at, parts)
  VALUES ($1, $2, $3, $4, $5, $6, now(), $7)
  ON CONFLICT (id) DO UPDATE
    SET address = excluded.address, tier = excluded.tier, seen_at = excluded.seen_at, parts = excluded.parts
  RETURNING (
      SELECT json_agg(json_build_object('id', id, 'name', ${replicaName}, 'isAlive', ${aliveCondition}))
      FROM replicas WHERE id <> $1
    ) AS others,
    pg_try_advisory_lock(${houseLock}) AS held,
    CASE WHEN NOT EXISTS (SELECT FROM replicas WHERE id = $1 AND ${aliveCondition})
      THEN pg_notify('toolkeeper', 'replicas') END`;

const selectAll = `
  SELECT id, ${replicaName} AS name, host, version, address, tier, started_at AS "startedAt", seen_at AS "seenAt",
    CASE WHEN NOT ${aliveCondition} THEN seen_at END AS "silentSince", parts
  FROM replicas
  ORDER BY started_at, id`;

const deleteOwn = `
  WITH gone AS (DELETE FROM replicas WHERE id = $1) SELECT pg_notify('toolkeeper', 'replicas')`;

/** The replicas on this database. Each writes its own row of the table and reads those of the others. */
@Injectable()
export class Replicas implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(Replicas.name);
  private readonly startedAt = new Date();
  private readonly loop: IntervalLoop;
  /** The other replicas, as of the last heartbeat. */
  others: readonly Sibling[] = [];
  /** Whether this session held the lock at the last heartbeat. */
  private isElected = false;
  /** Emits when this replica is elected for the work that one replica does for all. */
  readonly elected = new TypedEvents<void>((error) => this.logger.error(error));
  /** Id of this process. */
  readonly id = `${hostname()}:${process.pid}:${this.startedAt.getTime().toString(36)}`;

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'version' | 'server'>,
    private readonly ownSession: DatabaseHealth,
    @InjectDataSource() private readonly pool: DataSource,
    private readonly contributors: Contributors,
    private readonly http: HttpAdapterHost,
  ) {
    this.loop = new IntervalLoop(
      () => this.beat(),
      beatMs,
      (error, again) => {
        // An unavailable database is logged elsewhere.
        if (!again && !isDatabaseUnavailable(error))
          this.logger.warn(`The heartbeat failed: ${String(error)}`);
      },
    );
  }

  onApplicationBootstrap(): void {
    this.loop.start(0);
    this.ownSession.connections.subscribe(() => {
      // The lock ended with the previous connection.
      this.isElected = false;
      this.loop.hasten(0);
    });
    this.ownSession.changes.subscribe((changed) => {
      if (changed === 'replicas') this.loop.hasten(0);
    });
    this.server()?.once('listening', () => this.loop.hasten(0));
  }

  /** Name of this replica, as the others see it. */
  get name(): string {
    return hostname() + (/:\d+$/.exec(this.address() ?? '')?.[0] ?? '');
  }

  /** Number of live replicas, as of the last heartbeat. */
  get count(): number {
    return this.others.filter(({ isAlive }) => isAlive).length + 1;
  }

  /**
   * Whether this replica is elected for the work that one does for all, such as retention. It holds a lock in its session:
   * when that ends, another replica takes over with its next heartbeat.
   */
  get keepsHouse(): boolean {
    return this.isElected && this.ownSession.listens;
  }

  /** Replicas that have not stopped, oldest first. @throws the database's error */
  all(): Promise<Replica[]> {
    return this.pool.query(selectAll);
  }

  /** Live replicas, oldest first. @throws the database's error */
  async alive(): Promise<Replica[]> {
    return (await this.all()).filter(({ silentSince }) => silentSince === null);
  }

  /** Reports the stop, so that the others do not wait for the next heartbeat. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.loop.stop();
    await this.ownSession.query(deleteOwn, [this.id]).catch(() => undefined);
  }

  /** Writes a heartbeat, and reads the other replicas and the election: in the own session, which holds the lock. */
  private async beat(): Promise<void> {
    const parts: Record<string, PartHealth> = {};
    for (const [part, check] of this.contributors.health()) parts[part] = await check();
    const tier = parts['sandbox']?.['tier'] ?? null;
    const { id, startedAt, config } = this;
    const row = [id, hostname(), config.version, this.address(), tier, startedAt, JSON.stringify(parts)];
    const [answer] = await this.ownSession.query<{ others: Sibling[] | null; held: boolean }>(writeBeat, row);
    const wasElected = this.keepsHouse;
    this.others = answer?.others ?? [];
    this.isElected = answer?.held ?? false;
    if (this.isElected && !wasElected) this.elected.emit();
  }

  /** Base URL at which other replicas reach this one; null until the server listens. */
  private address(): string | null {
    const bound = this.server()?.address();
    if (typeof bound !== 'object' || !bound) return null;
    const host = isWildcard(bound.address) ? (ownAddress() ?? hostname()) : bound.address;
    return `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`;
  }

  private server(): Server | undefined {
    return this.http.httpAdapter?.getHttpServer() as Server | undefined;
  }
}

const isWildcard = (address: string): boolean => address === '0.0.0.0' || address === '::';

/** The first address that other machines may reach, IPv4 before IPv6. */
function ownAddress(): string | undefined {
  const found = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .filter(({ internal }) => !internal);
  return (found.find(({ family }) => family === 'IPv4') ?? found[0])?.address;
}
