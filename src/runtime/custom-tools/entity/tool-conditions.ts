import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { replicaName, Replicas } from '../../../base/database/replicas.js';
import type { CustomTool, HealthStatus, ToolStatus } from './custom-tool.entity.js';

/** What checks and processes say of a tool. */
export interface ToolCondition {
  readonly status?: ToolStatus;
  readonly healthStatus?: HealthStatus;
  readonly lastHealthCheck?: Date;
  readonly errorMessage?: string | null;
}

/** A replica at which a tool is not well. */
export interface ReplicaTrouble {
  readonly replica: string;
  /** Host and port of the replica. */
  readonly name: string;
  readonly host: string;
  readonly status: ToolStatus;
  readonly healthStatus: HealthStatus;
  readonly errorMessage: string | null;
}

type Conditioned = Pick<CustomTool, 'name' | 'status' | 'revision'>;

const store = `
  INSERT INTO tool_conditions (tool, replica, status, health, error)
  SELECT name, $2, $3, $4, $5 FROM custom_tools WHERE name = $1 AND status <> 'inactive'
  ON CONFLICT (tool, replica) DO UPDATE
    SET status = excluded.status, health = excluded.health, error = excluded.error
  RETURNING 1`;

const selectTroubles = `
  SELECT tool, replica, ${replicaName} AS name, host, status, health AS "healthStatus", error AS "errorMessage"
  FROM tool_conditions JOIN replicas ON id = replica AND seen_at > now() - interval '15 seconds'
  WHERE $1::text IS NULL OR tool = $1
  ORDER BY tool, name, replica`;

/**
 * The conditions of tools at this replica, in memory. Only what is not well is stored, for the other replicas to show; a
 * tool's row says what operators want.
 */
@Injectable()
export class ToolConditions {
  private readonly own = new Map<string, ToolCondition & { readonly revision: number | undefined }>();
  private readonly stored = new Set<string>();

  constructor(
    @InjectDataSource() private readonly db: DataSource,
    private readonly replicas: Replicas,
  ) {}

  /** A row with the condition of the tool here. */
  over<Row extends Conditioned>(row: Row): Row {
    const own = this.own.get(row.name);
    if (!own || row.status === 'inactive' || (own.revision ?? row.revision) !== row.revision) return row;
    const { revision: _ofIt, ...condition } = own;
    return Object.assign(row, condition);
  }

  /**
   * @param revision that runs; undefined: none
   * @returns false if the tool is disabled or gone. @throws the database's error
   */
  async set(name: string, revision: number | undefined, changes: ToolCondition): Promise<boolean> {
    const before = this.own.get(name);
    const now = { ...(before?.revision === revision && before), ...changes, revision };
    const { status = 'active', healthStatus = 'unknown', errorMessage = null } = now;
    const isWell = status === 'active' && (healthStatus === 'healthy' || healthStatus === 'unknown');
    if (isWell) await this.unstore(name);
    else if (!this.stored.has(name) || !isSame(before, now)) {
      const values = [name, this.replicas.id, status, healthStatus, errorMessage];
      if ((await this.db.query<unknown[]>(store, values)).length === 0) return false;
      this.stored.add(name);
    }
    this.own.set(name, now);
    return true;
  }

  /** Its row was written: that is its condition now. */
  async reset(name: string): Promise<void> {
    this.own.delete(name);
    await this.unstore(name);
  }

  /** Where tools are not well, by tool; undefined: there is one replica. @param tool absent: all of them */
  async troubles(
    tool?: string,
  ): Promise<{ total: number; byTool: Map<string, ReplicaTrouble[]> } | undefined> {
    const { count: total } = this.replicas;
    if (total < 2) return undefined;
    const rows = await this.db.query<(ReplicaTrouble & { tool: string })[]>(selectTroubles, [tool ?? null]);
    return { total, byTool: Map.groupBy(rows, (row) => row.tool) };
  }

  private async unstore(name: string): Promise<void> {
    if (!this.stored.delete(name)) return;
    await this.db.query('DELETE FROM tool_conditions WHERE tool = $1 AND replica = $2', [
      name,
      this.replicas.id,
    ]);
  }
}

const isSame = (one: ToolCondition | undefined, other: ToolCondition): boolean =>
  one?.status === other.status &&
  one?.healthStatus === other.healthStatus &&
  one?.errorMessage === other.errorMessage;
