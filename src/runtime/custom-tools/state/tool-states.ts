import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { KeyedMutex } from '../../../base/common/keyed-mutex.js';
import { sanitisedText } from '../../../base/common/pg-text.js';
import { replicaName, Replicas } from '../../../base/database/replicas.js';
import { type ToolEvent, ToolEvents } from '../../../base/streams/tool-events.js';
import type { Ending, Reply } from '../../process-pool/pool.types.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { ToolLogs } from '../logs/tool-logs.js';

/** The status and health of a tool, as in its row. */
export type ToolCondition = Pick<CustomTool, 'status' | 'healthStatus' | 'errorMessage'>;
/** The part of it that a check determines. */
export type StatedHealth = Pick<CustomTool, 'healthStatus' | 'errorMessage'>;

/** Kinds of trouble, mildest first. Each has its event. */
const kinds = ['degraded', 'crashed', 'failed'] as const;

interface Trouble {
  readonly kind: (typeof kinds)[number];
  readonly message: string;
  readonly data: ToolEvent['data'];
}

/** A tool at this replica. Absent columns are as in its row. */
export interface ToolState extends Partial<ToolCondition> {
  readonly lastHealthCheck?: Date;
  /** The worst trouble since the tool was last well. */
  readonly trouble?: Trouble | undefined;
}

/** The state after a check or a start. @param result the columns that it determined */
export function withResult(
  { trouble: before, ...state }: ToolState,
  result: Partial<ToolCondition>,
  crash?: Trouble,
): ToolState {
  const { errorMessage: why } = result;
  const columns = why ? { ...result, errorMessage: storableMessage(why) } : result;
  const trouble = crash ?? troubleOf(columns);
  const isWorse = trouble && (!before || kinds.indexOf(before.kind) < kinds.indexOf(trouble.kind));
  const isWell = columns.healthStatus === 'healthy' && !trouble;
  const worst = isWorse ? trouble : before;
  return { ...state, ...columns, lastHealthCheck: new Date(), trouble: isWell ? undefined : worst };
}

/** The state after a crash. Further crashes change nothing until the tool is well again. */
export function crashed(
  state: ToolState,
  { exitCode, signal }: Pick<Ending, 'exitCode' | 'signal'>,
): ToolState {
  const how = signal === null ? `with exit code ${exitCode}` : `by ${signal}`;
  const message = `A process of it ended ${how}`;
  const trouble = { kind: 'crashed', message, data: { exitCode, signal } } as const;
  const after = withResult(state, { healthStatus: 'unhealthy', errorMessage: message }, trouble);
  return after.trouble === trouble ? after : state;
}

/** The state after a successful call, which ends the trouble of a crash at once. */
export const answered = (state: ToolState, health: StatedHealth): ToolState =>
  state.trouble?.kind === 'crashed' ? withResult(state, health) : state;

/** The state after the start of a process, which ends status `error`. */
export const started = (state: ToolState): ToolState =>
  state.status === 'error' ? withResult(state, { status: 'active', ...wellNow }) : state;

/** The state after the tool's row was written: that of the row. */
export const stored = ({ trouble }: ToolState, row: ToolCondition): ToolState => ({
  trouble: withResult({ trouble }, row).trouble,
});

function troubleOf({ status, healthStatus, errorMessage }: Partial<ToolCondition>): Trouble | undefined {
  if (status === 'error')
    return { kind: 'failed', message: errorMessage ?? 'It cannot be started', data: { status } };
  if (healthStatus !== 'degraded' && healthStatus !== 'unhealthy') return undefined;
  const message = errorMessage ?? `It reports that it is ${healthStatus}`;
  return { kind: 'degraded', message, data: { healthStatus } };
}

/** The event of a change; undefined if the tool is neither worse nor well again. */
export function eventOf(
  before: ToolState,
  after: ToolState,
): Pick<ToolEvent, 'type' | 'message' | 'data'> | undefined {
  const [from, to] = [before.trouble, after.trouble];
  if (to) return to === from ? undefined : { type: `tool.${to.kind}`, message: to.message, data: to.data };
  return (
    from && { type: 'tool.recovered', message: 'It starts and answers again', data: { from: from.kind } }
  );
}

const maxMessage = 4_096;

/** A text of the tool, such as its stderr, made fit for its row. */
const storableMessage = (text: string): string => sanitisedText(text).slice(0, maxMessage);

/** The health of a tool without faults. */
export const wellNow: StatedHealth = { healthStatus: 'healthy', errorMessage: null };

/** The condition in an answer to `health`. Without a known status the tool is healthy, because it answered. */
export function healthOf(reply: Reply): StatedHealth {
  if ('error' in reply) {
    const { code, message } = reply.error;
    // -32601: the tool does not implement `health`.
    return code === -32601 ? wellNow : { healthStatus: 'degraded', errorMessage: message };
  }
  const { status, message } = (reply.result ?? {}) as { status?: unknown; message?: unknown };
  if (status !== 'degraded' && status !== 'unhealthy') return wellNow;
  return { healthStatus: status, errorMessage: typeof message === 'string' ? message : null };
}

/**
 * Columns of a tool that has just answered `initialize`.
 * @param health its answer to `health`; undefined if there was none during the test start, which is no fault
 */
export function answeredNow(health: Reply | undefined) {
  const { healthStatus, errorMessage } = health ? healthOf(health) : wellNow;
  const reason = errorMessage === null ? null : storableMessage(errorMessage);
  return { healthStatus, errorMessage: reason, lastHealthCheck: new Date() };
}

/** Columns of a tool that cannot be started. */
export function brokenBy(reason: string) {
  const errorMessage = storableMessage(reason);
  return { status: 'error', healthStatus: 'unhealthy', lastHealthCheck: new Date(), errorMessage } as const;
}

/** A replica at which a tool is not well. */
export interface ReplicaTrouble extends ToolCondition {
  readonly replica: string;
  /** Host and port of the replica. */
  readonly name: string;
  readonly host: string;
}

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
 * The states of tools at this replica, in memory. A change emits an event if the tool is worse or has recovered, and
 * writes its log if the status differs. Only troubles are stored, so that other replicas can show them; a tool's own row
 * holds the operators' wishes.
 */
@Injectable()
export class ToolStates {
  private readonly states = new Map<string, ToolState & { readonly revision: number | undefined }>();
  /** This replica's rows of tool_conditions, as JSON. */
  private readonly stored = new Map<string, string>();
  private readonly writes = new KeyedMutex();

  constructor(
    @InjectDataSource() private readonly db: DataSource,
    private readonly replicas: Replicas,
    private readonly events: ToolEvents,
    private readonly logs: ToolLogs,
  ) {}

  hasCrashed(name: string): boolean {
    return this.states.get(name)?.trouble?.kind === 'crashed';
  }

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
    if (after.status) this.logs.status(tool, after.status, after.errorMessage);
    const event = eventOf(before, after);
    if (event) this.events.publish({ tool, ...event });
    return this.write(tool);
  }

  /** Takes over the state of a row that was written. @throws the database's error */
  written({ name, ...row }: { readonly name: string } & ToolCondition): Promise<void> {
    this.logs.status(name, row.status, row.errorMessage);
    return row.status === 'inactive'
      ? this.forget(name)
      : this.change(name, undefined, (state) => stored(state, row));
  }

  /** Forgets a tool that was disabled or deleted. @throws the database's error */
  forget(name: string): Promise<void> {
    this.states.delete(name);
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
      if (row === this.stored.get(name)) return;
      const key = [name, this.replicas.id];
      if (row !== undefined) {
        const written = await this.db.query<unknown[]>(store, [...key, ...values]);
        if (written.length > 0) return void this.stored.set(name, row);
        // The tool was disabled or deleted at another replica.
        this.states.delete(name);
      }
      if (this.stored.has(name))
        await this.db.query('DELETE FROM tool_conditions WHERE tool = $1 AND replica = $2', key);
      this.stored.delete(name);
    });
  }
}
