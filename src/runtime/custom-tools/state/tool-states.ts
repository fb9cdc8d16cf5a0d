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

/** Columns of a tool's row that say how it is. */
export type ToolCondition = Pick<CustomTool, 'status' | 'healthStatus' | 'errorMessage'>;
export type StatedHealth = Pick<CustomTool, 'healthStatus' | 'errorMessage'>;

/** Kinds of trouble, the mildest first. Each is an event of the tool. */
const kinds = ['degraded', 'crashed', 'failed'] as const;

interface Trouble {
  readonly kind: (typeof kinds)[number];
  readonly message: string;
  readonly data: ToolEvent['data'];
}

/** A tool at this replica. Absent columns are as in its row. */
export interface ToolState extends Partial<ToolCondition> {
  readonly lastHealthCheck?: Date;
  /** The worst since it was last well. */
  readonly trouble?: Trouble | undefined;
}

/** Takes the result of a check or of a start; empty: nothing speaks against the tool. */
export function found(
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

/** A process ended by itself. A tool that crashes with every call has crashed once, until it is well again. */
export function crashed(
  state: ToolState,
  { exitCode, signal }: Pick<Ending, 'exitCode' | 'signal'>,
): ToolState {
  const message = `A process of it ended ${signal === null ? `with exit code ${exitCode}` : `by ${signal}`}`;
  const trouble = { kind: 'crashed', message, data: { exitCode, signal } } as const;
  const after = found(state, { healthStatus: 'unhealthy', errorMessage: message }, trouble);
  return after.trouble === trouble ? after : state;
}

/** A call succeeded, which mends a tool that has crashed without waiting for the next check. */
export const answered = (state: ToolState, health: StatedHealth): ToolState =>
  state.trouble?.kind === 'crashed' ? found(state, health) : state;

/** A process of it has started, which mends a tool that could not be started. */
export const started = (state: ToolState): ToolState =>
  state.status === 'error' ? found(state, { status: 'active', ...wellNow }) : state;

/** Its row was written: the row says how it is, also here. */
export const stored = ({ trouble }: ToolState, row: ToolCondition): ToolState => ({
  trouble: found({ trouble }, row).trouble,
});

function troubleOf({ status, healthStatus, errorMessage }: Partial<ToolCondition>): Trouble | undefined {
  if (status === 'error')
    return { kind: 'failed', message: errorMessage ?? 'It cannot be started', data: { status } };
  if (healthStatus !== 'degraded' && healthStatus !== 'unhealthy') return undefined;
  const message = errorMessage ?? `It says of itself that it is ${healthStatus}`;
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

/** Words for a tool's row that may come from the tool itself: its stderr, its answer to `health`. */
const storableMessage = (text: string): string => sanitisedText(text).slice(0, maxMessage);

export const wellNow: StatedHealth = { healthStatus: 'healthy', errorMessage: null };

/** The condition in an answer to `health`. Without a known status the tool is healthy, because it answered. */
export function healthOf(reply: Reply): StatedHealth {
  if ('error' in reply) {
    const { code, message } = reply.error;
    // -32601: it has no such method.
    return code === -32601 ? wellNow : { healthStatus: 'degraded', errorMessage: message };
  }
  const { status, message } = (reply.result ?? {}) as { status?: unknown; message?: unknown };
  if (status !== 'degraded' && status !== 'unhealthy') return wellNow;
  return { healthStatus: status, errorMessage: typeof message === 'string' ? message : null };
}

/**
 * Columns of a tool that has just answered `initialize`.
 * @param health its answer to `health`; undefined: none within the time of a test start, which is no fault yet
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
 * The states of tools at this replica, in memory. Each change is an event if the tool is worse or well again, and a line
 * of its log if its status is another one. Only what is not well is stored, for the other replicas to show; a tool's row
 * says what operators want.
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

  /** A row with the state of the tool here. */
  over<Row extends Pick<CustomTool, 'name' | 'revision' | 'status'>>(row: Row): Row {
    const own = this.states.get(row.name);
    if (!own || row.status === 'inactive' || (own.revision ?? row.revision) !== row.revision) return row;
    const { revision: _known, trouble: _event, ...columns } = own;
    return Object.assign(row, columns);
  }

  /**
   * Changes a tool's state at once.
   * @param revision that runs; undefined: none. Of the state of another one only the trouble stays
   * @returns when other replicas can see it. @throws the database's error
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

  /** A tool's row was written. @throws the database's error */
  written({ name, ...row }: { readonly name: string } & ToolCondition): Promise<void> {
    this.logs.status(name, row.status, row.errorMessage);
    return row.status === 'inactive'
      ? this.forget(name)
      : this.change(name, undefined, (state) => stored(state, row));
  }

  /** A tool is disabled or deleted. @throws the database's error */
  forget(name: string): Promise<void> {
    this.states.delete(name);
    return this.write(name);
  }

  /** Lists the replicas at which tools are not well, by tool; undefined: there is one replica. @param tool absent: all */
  async troubles(
    tool?: string,
  ): Promise<{ total: number; byTool: Map<string, ReplicaTrouble[]> } | undefined> {
    const { count: total } = this.replicas;
    if (total < 2) return undefined;
    const rows = await this.db.query<(ReplicaTrouble & { tool: string })[]>(selectTroubles, [tool ?? null]);
    return { total, byTool: Map.groupBy(rows, (row) => row.tool) };
  }

  /** Brings the row of tool_conditions in line with the state, after writes under way. */
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
        if ((await this.db.query<unknown[]>(store, [...key, ...values])).length > 0)
          return void this.stored.set(name, row);
        // It was disabled or deleted at another replica.
        this.states.delete(name);
      }
      if (this.stored.has(name))
        await this.db.query('DELETE FROM tool_conditions WHERE tool = $1 AND replica = $2', key);
      this.stored.delete(name);
    });
  }
}
