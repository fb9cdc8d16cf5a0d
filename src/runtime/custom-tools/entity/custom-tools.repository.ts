import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Problem } from '../../../base/common/errors.js';
import { sanitisedText } from '../../../base/common/pg-text.js';
import { DatabaseHealth } from '../../../base/database/database-health.js';
import { CustomTool, CustomToolImport, type ToolStatus } from './custom-tool.entity.js';
import { type ToolCondition, ToolConditions } from './tool-conditions.js';
import type { Reply } from '../../process-pool/pool.types.js';

/** Columns that the reconciler needs. */
export type ToolState = Pick<CustomTool, 'id' | 'name' | 'revision' | 'status' | 'healthStatus'>;

interface KnownStates {
  readonly rows: Promise<ToolState[]>;
  readonly at: number;
}

/** States are read again after a minute, for what a notification does not reach. */
export const statesMs = 60_000;

/** A health check is no change of the tool: `updatedAt` stays. */
const unchanged = { updatedAt: () => 'updated_at' };

/** Rows of custom_tools and custom_tool_imports. */
@Injectable()
export class CustomToolsRepository {
  private known: KnownStates | undefined;

  constructor(
    @InjectRepository(CustomTool) private readonly tools: Repository<CustomTool>,
    @InjectRepository(CustomToolImport) private readonly imports: Repository<CustomToolImport>,
    private readonly conditions: ToolConditions,
    private readonly database: DatabaseHealth,
  ) {
    const forget = (): void => (this.known = undefined);
    database.changes.subscribe((table) => table === 'custom_tools' && forget());
    database.connections.subscribe(forget);
  }

  /** Sorted by name. */
  async list(status?: ToolStatus): Promise<CustomTool[]> {
    const tools = (await this.tools.find({ order: { name: 'ASC' } })).map((row) => this.conditions.over(row));
    return status ? tools.filter((tool) => tool.status === status) : tools;
  }

  /** All of them, in no order, as of the last change that the database has notified of. */
  async states(): Promise<ToolState[]> {
    const isFresh = this.known && this.database.listens && performance.now() - this.known.at < statesMs;
    const known = isFresh && this.known ? this.known : this.readStates();
    return (await known.rows).map((row) => this.conditions.over({ ...row }));
  }

  private readStates(): KnownStates {
    const select = { id: true, name: true, revision: true, status: true, healthStatus: true } as const;
    const known = { rows: this.tools.find({ select }), at: performance.now() };
    known.rows.catch(() => this.known === known && (this.known = undefined));
    return (this.known = known);
  }

  /** @throws Problem `not_found` */
  async get(name: string): Promise<CustomTool> {
    const tool = await this.find(name);
    if (!tool) throw new Problem('not_found', `There is no custom tool named ${JSON.stringify(name)}`);
    return tool;
  }

  async find(name: string): Promise<CustomTool | null> {
    // The database refuses to look for what it cannot hold.
    const tool = sanitisedText(name) === name ? await this.tools.findOneBy({ name }) : null;
    return tool && this.conditions.over(tool);
  }

  /** A number for the user of a new tool: none comes twice before all have come. */
  async newUserNumber(): Promise<number> {
    for (;;) {
      const [row] = await this.tools.query<{ number: number }[]>(
        `SELECT nextval('custom_tool_users')::integer AS number`,
      );
      const userNumber = row?.number ?? 0;
      if (!(await this.tools.existsBy({ userNumber }))) return userNumber;
    }
  }

  /** Its status alone: what another replica changes meanwhile stays. @throws Problem `not_found` */
  async disable(name: string): Promise<CustomTool> {
    const { id } = await this.get(name);
    await this.tools.update({ id }, { status: 'inactive' });
    return this.get(name);
  }

  /** Stores the real path of the tool's command. */
  async pin(name: string, pinnedCommand: string): Promise<void> {
    await this.tools.update({ name }, { pinnedCommand, ...unchanged });
  }

  /**
   * A disabled tool stays disabled, even if its last processes report something else.
   * @param revision that runs
   * @returns the condition as it is stored; undefined if it is not
   */
  async setCondition(
    name: string,
    revision: number | undefined,
    condition: ToolCondition,
  ): Promise<ToolCondition | undefined> {
    const { errorMessage } = condition;
    const clean = typeof errorMessage === 'string' && { errorMessage: storableMessage(errorMessage) };
    const changes = { ...condition, ...clean };
    return (await this.conditions.set(name, revision, changes)) ? changes : undefined;
  }

  /** @throws Problem `not_found` */
  async delete(name: string): Promise<void> {
    const tool = await this.get(name);
    await this.tools.delete({ id: tool.id });
  }

  async importedHash(path: string): Promise<string | undefined> {
    return (await this.imports.findOneBy({ path }))?.contentHash;
  }

  /** Unless it was remembered otherwise meanwhile. */
  async forgetImport(path: string, contentHash: string): Promise<void> {
    await this.imports.delete({ path, contentHash });
  }

  async rememberImport(path: string, contentHash: string): Promise<void> {
    await this.imports.save({ path, contentHash });
  }
}

const maxMessage = 4_096;

export type StatedHealth = Pick<CustomTool, 'healthStatus' | 'errorMessage'>;

/** Words for a tool's row that may come from the tool itself: its stderr, its answer to `health`. */
export function storableMessage(text: string): string {
  return sanitisedText(text).slice(0, maxMessage);
}

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
 * The condition of a tool that has just answered `initialize`.
 * @param health its answer to `health`; undefined: none within the time of a test start, which is no fault yet
 */
export function answeredNow(health: Reply | undefined) {
  const { healthStatus, errorMessage } = health ? healthOf(health) : wellNow;
  const reason = errorMessage === null ? null : storableMessage(errorMessage);
  return { healthStatus, errorMessage: reason, lastHealthCheck: new Date() };
}

/** The condition of a tool that cannot be started. */
export function brokenBy(reason: string) {
  const errorMessage = storableMessage(reason);
  return { status: 'error', healthStatus: 'unhealthy', lastHealthCheck: new Date(), errorMessage } as const;
}

const wellNow: StatedHealth = { healthStatus: 'healthy', errorMessage: null };
