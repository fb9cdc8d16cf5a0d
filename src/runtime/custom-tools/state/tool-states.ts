import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { KeyedMutex } from '../../../base/common/keyed-mutex.js';
import { replicaName, Replicas } from '../../../base/database/replicas.js';
import { ToolEvents } from '../../../base/streams/tool-events.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { ToolLogs } from '../logs/tool-logs.js';
import { afterRowWrite, eventOf, type ToolCondition, type ToolState } from './tool-state.js';

/** A replica at which a tool is not well. */
export interface ReplicaTrouble extends ToolCondition {
  readonly replica: string;
  /** Host and port of the replica. */
  readonly name: string;
  readonly host: string;
}

/** Stores the state of a tool at this replica, unless the tool was disabled or deleted. */
const upsertCondition = `
  INSERT INTO tool_conditions (tool, replica, status, health, error)
  SELECT name, $2, $3, $4, $5 FROM custom_tools WHERE name = $1 AND status <> 'inactive'
  ON CONFLICT (tool, replica) DO UPDATE
    SET status = excluded.status, health = excluded.health, error = excluded.error
  RETURNING 1`;

/** The replicas that are alive and at which a tool, or any tool, is in trouble. */
const selectTroubles = `
  SELECT tool, replica, ${replicaName} AS name, host, status, health AS "healthStatus", error AS "errorMessage"
  FROM tool_conditions JOIN replicas ON id = replica AND seen_at > now() - interval '15 seconds'
  WHERE $1::text IS NULL OR tool = $1
  ORDER BY tool, name, replica`;

/**
 * The states of tools at this replica, in memory. A change emits an event if the tool is worse or has recovered, and
 * writes its log if the status differs. Only troubles are stored, so that other replicas can show them; a tool's own row
 * holds the operators' wishes.
 */
@Injectable()
export class ToolStates {
  private readonly states = new Map<string, ToolState & { readonly revision: number | undefined }>();
  /** Names of tools of which a process has crashed since the tool was last well. */
  readonly crashed = new Set<string>();
  /** This replica's rows of tool_conditions, as JSON. */
  private readonly writtenRows = new Map<string, string>();
  private readonly writes = new KeyedMutex();

  constructor(
    @InjectDataSource() private readonly db: DataSource,
    private readonly replicas: Replicas,
    private readonly events: ToolEvents,
    private readonly logs: ToolLogs,
  ) {}

  /** Overwrites a row's columns with the tool's state at this replica. */
  applyTo<Row extends Pick<CustomTool, 'name' | 'revision' | 'status'>>(row: Row): Row {
    const own = this.states.get(row.name);
    if (!own || row.status === 'inactive' || (own.revision ?? row.revision) !== row.revision) return row;
    const { revision: _known, trouble: _event, ...columns } = own;
    return Object.assign(row, columns);
  }

  /**
   * Changes a tool's state at once. Resolves when other replicas can see it.
   * @param revision the running one, or undefined; of another revision's state only the trouble is kept
   * @throws the database's error
   */
  change(
    tool: string,
    revision: number | undefined,
    transition: (state: ToolState) => ToolState,
  ): Promise<void> {
    const known = this.states.get(tool);
    const before: ToolState = known?.revision === revision && known ? known : { trouble: known?.trouble };
    const after = transition(before);
    if (after === before) return Promise.resolve();
    this.states.set(tool, { ...after, revision });
    if (after.trouble?.kind === 'crashed') this.crashed.add(tool);
    else this.crashed.delete(tool);
    if (after.status) this.logs.logStatus(tool, after.status, after.errorMessage);
    const event = eventOf(before, after);
    if (event) this.events.publish({ tool, ...event });
    return this.write(tool);
  }

  /** Takes over the state of a row that was written. @throws the database's error */
  rowWritten({ name, ...row }: { readonly name: string } & ToolCondition): Promise<void> {
    this.logs.logStatus(name, row.status, row.errorMessage);
    return row.status === 'inactive'
      ? this.forget(name)
      : this.change(name, undefined, (state) => afterRowWrite(state, row));
  }

  /** Forgets a tool that was disabled or deleted. @throws the database's error */
  forget(name: string): Promise<void> {
    this.states.delete(name);
    this.crashed.delete(name);
    return this.write(name);
  }

  /** The replicas at which tools are in trouble, by tool; undefined if there is only one replica. @param tool absent: all */
  async troubles(
    tool?: string,
  ): Promise<{ total: number; byTool: Map<string, ReplicaTrouble[]> } | undefined> {
    const { count: total } = this.replicas;
    if (total < 2) return undefined;
    const rows = await this.db.query<(ReplicaTrouble & { tool: string })[]>(selectTroubles, [tool ?? null]);
    return { total, byTool: Map.groupBy(rows, (row) => row.tool) };
  }

  /** Writes a tool's state to tool_conditions, or deletes the row if the tool is well. Writes of one tool are serialised. */
  private write(name: string): Promise<void> {
    return this.writes.run(name, async () => {
      const {
        status = 'active',
        healthStatus = 'unknown',
        errorMessage = null,
      } = this.states.get(name) ?? {};
      const isWell = status === 'active' && (healthStatus === 'healthy' || healthStatus === 'unknown');
      const values = [status, healthStatus, errorMessage];
      const row = isWell ? undefined : JSON.stringify(values);
      if (row === this.writtenRows.get(name)) return;
      const key = [name, this.replicas.id];
      if (row !== undefined) {
        const written = await this.db.query<unknown[]>(upsertCondition, [...key, ...values]);
        if (written.length > 0) {
          this.writtenRows.set(name, row);
          return;
        }
        // The tool was disabled or deleted at another replica.
        this.states.delete(name);
      }
      if (this.writtenRows.has(name))
        await this.db.query('DELETE FROM tool_conditions WHERE tool = $1 AND replica = $2', key);
      this.writtenRows.delete(name);
    });
  }
}
