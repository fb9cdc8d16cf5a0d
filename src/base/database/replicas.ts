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

const beatMs = 5_000;
/** A replica without a heartbeat for this long is silent. Unless it has stopped it is listed for an hour. */
const isAlive = `seen_at > now() - interval '15 seconds'`;

/** The name of a row of `replicas`. */
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
  /** Its last heartbeat, if it gives no sign of life since; it may still serve. */
  readonly silentSince: Date | null;
  /** The parts of its readiness. */
  readonly parts: Readonly<Record<string, PartHealth>>;
}

/** 'housekep' in ASCII, to avoid collisions with advisory locks of other programs. */
const houseLock = BigInt('0x686f7573656b6570');

/**
 * A replica that is new, or was silent, notifies the others, so that they count it at once. A new one takes the place of one that was killed.
 */
const beat = `
  WITH gone AS (
         DELETE FROM replicas
         WHERE seen_at < now() - interval '1 hour' OR (host = $2 AND address = $4 AND id <> $1)
       ),
       unknown AS (DELETE FROM tool_conditions WHERE replica NOT IN (SELECT id FROM replicas UNION SELECT $1))
  INSERT INTO replicas (id, host, version, address, tier, started_at, seen_at, parts)
  VALUES ($1, $2, $3, $4, $5, $6, now(), $7)
  ON CONFLICT (id) DO UPDATE
    SET address = excluded.address, tier = excluded.tier, seen_at = excluded.seen_at, parts = excluded.parts
  RETURNING (
      SELECT json_agg(json_build_object('id', id, 'name', ${replicaName}, 'isAlive', ${isAlive}))
      FROM replicas WHERE id <> $1
    ) AS others,
    pg_try_advisory_lock(${houseLock}) AS keeps,
    CASE WHEN NOT EXISTS (SELECT FROM replicas WHERE id = $1 AND ${isAlive})
      THEN pg_notify('toolkeeper', 'replicas') END`;

const all = `
  SELECT id, ${replicaName} AS name, host, version, address, tier, started_at AS "startedAt", seen_at AS "seenAt",
    CASE WHEN NOT ${isAlive} THEN seen_at END AS "silentSince", parts
  FROM replicas
  ORDER BY started_at, id`;

const leave = `
  WITH gone AS (DELETE FROM replicas WHERE id = $1) SELECT pg_notify('toolkeeper', 'replicas')`;

/** The replicas of the fleet: this one reports itself in the table, and reads the others there. */
@Injectable()
export class Replicas implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(Replicas.name);
  private readonly startedAt = new Date();
  private readonly loop: IntervalLoop;
  others: readonly Sibling[] = [];
  private keeps = false;
  /** Emits when this replica becomes the one that keeps house. */
  readonly elected = new TypedEvents<void>((error) => this.logger.error(error));
  /** This replica's. */
  readonly id = `${hostname()}:${process.pid}:${this.startedAt.getTime().toString(36)}`;

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'version' | 'server'>,
    private readonly database: DatabaseHealth,
    @InjectDataSource() private readonly db: DataSource,
    private readonly contributors: Contributors,
    private readonly http: HttpAdapterHost,
  ) {
    this.loop = new IntervalLoop(
      () => this.beat(),
      beatMs,
      (error, again) => {
        // A database that is away is in the log already.
        if (!again && !isDatabaseUnavailable(error))
          this.logger.warn(`The heartbeat failed: ${String(error)}`);
      },
    );
  }

  onApplicationBootstrap(): void {
    this.loop.start(0);
    this.database.connections.subscribe(() => {
      // The lock ended with the connection before.
      this.keeps = false;
      this.loop.hasten(0);
    });
    this.database.changes.subscribe((changed) => {
      if (changed === 'replicas') this.loop.hasten(0);
    });
    this.server()?.once('listening', () => this.loop.hasten(0));
  }

  /** This replica's, as the others see it. */
  get name(): string {
    return hostname() + (/:\d+$/.exec(this.address() ?? '')?.[0] ?? '');
  }

  /** How many are alive, as of the last heartbeat. */
  get count(): number {
    return this.others.filter(({ isAlive: alive }) => alive).length + 1;
  }

  /**
   * Whether this replica does the work that one of them does for all, such as retention. It holds a lock in its session:
   * when that ends, another replica takes over with its next heartbeat.
   */
  get keepsHouse(): boolean {
    return this.keeps && this.database.listens;
  }

  /** Those that have not stopped, oldest first. @throws the database's error */
  all(): Promise<Replica[]> {
    return this.db.query(all);
  }

  /** Those that are alive, oldest first. @throws the database's error */
  async alive(): Promise<Replica[]> {
    return (await this.all()).filter(({ silentSince }) => silentSince === null);
  }

  /** A replica that stops is gone at once. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.loop.stop();
    await this.database.query(leave, [this.id]).catch(() => undefined);
  }

  private async beat(): Promise<void> {
    const parts: Record<string, PartHealth> = {};
    for (const [part, check] of this.contributors.health()) parts[part] = await check();
    const tier = parts['sandbox']?.['tier'] ?? null;
    const { id, startedAt, config } = this;
    const row = [id, hostname(), config.version, this.address(), tier, startedAt, JSON.stringify(parts)];
    const [answer] = await this.database.query<{ others: Sibling[] | null; keeps: boolean }>(beat, row);
    const kept = this.keepsHouse;
    this.others = answer?.others ?? [];
    this.keeps = answer?.keeps ?? false;
    if (this.keeps && !kept) this.elected.emit();
  }

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
