import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Problem } from '../../../base/common/errors.js';
import { sanitisedText } from '../../../base/common/pg-text.js';
import { DatabaseHealth } from '../../../base/database/database-health.js';
import { CustomTool, CustomToolImport, type ToolStatus } from '../entity/custom-tool.entity.js';
import { ToolStates } from './tool-states.js';

/** Columns that the reconciler needs. */
export type ToolRow = Pick<CustomTool, 'id' | 'name' | 'revision' | 'status' | 'healthStatus'>;

/**
 * Rows that changed since the last read ($1; null: all rows), and the position of this read. Rows count as changed if
 * their transaction was open at the last read or began later, independent of clocks and of the order of commits.
 */
const selectChanges = `
  SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS "readUpTo", count(*)::int AS count, coalesce(json_agg(
    json_build_object('id', id, 'name', name, 'revision', revision, 'status', status, 'healthStatus', health_status)
  ) FILTER (WHERE $1::xid8 IS NULL OR age(xmin) <= age($1::xid8::xid)), '[]') AS changed
  FROM custom_tools`;

/** The answer to `selectChanges`. */
interface Changes {
  /** Position of this read: a transaction id. */
  readonly readUpTo: string;
  /** Number of all rows. */
  readonly count: number;
  readonly changed: readonly ToolRow[];
}

/** Keeps `updatedAt` in writes that do not change the tool. */
const keepUpdatedAt = { updatedAt: () => 'updated_at' };

/** Rows of custom_tools and custom_tool_imports. */
@Injectable()
export class CustomToolsRepository {
  /** The rows as of the last `readChanges`, by name. */
  private readonly known = new Map<string, ToolRow>();
  /** Transaction id up to which changes were read; null: all rows must be read. */
  private readUpTo: string | null = null;

  constructor(
    @InjectRepository(CustomTool) private readonly tools: Repository<CustomTool>,
    @InjectRepository(CustomToolImport) private readonly imports: Repository<CustomToolImport>,
    private readonly states: ToolStates,
    private readonly database: DatabaseHealth,
  ) {
    // Another server may have other transaction ids.
    database.connections.subscribe(() => (this.readUpTo = null));
  }

  /** All tools, sorted by name. */
  async list(status?: ToolStatus): Promise<CustomTool[]> {
    const tools = (await this.tools.find({ order: { name: 'ASC' } })).map((row) => this.states.applyTo(row));
    return status ? tools.filter((tool) => tool.status === status) : tools;
  }

  /** Names of all tools, as of the last `readChanges`. @throws DatabaseUnavailable while the database does not answer */
  names(): Iterable<string> {
    this.database.assertAnswers();
    return this.known.keys();
  }

  /** A tool as of the last `readChanges`, with its state at this server. */
  row(name: string): ToolRow | undefined {
    const row = this.known.get(name);
    return row && this.states.applyTo({ ...row });
  }

  /** Reads the rows that changed since the last call; calls must not overlap. */
  async readChanges(): Promise<void> {
    const [read] = await this.tools.query<[Changes]>(selectChanges, [this.readUpTo]);
    for (const row of read.changed) this.known.set(row.name, row);
    if (this.known.size > read.count) {
      const names = new Set((await this.tools.find({ select: { name: true } })).map(({ name }) => name));
      for (const name of this.known.keys()) if (!names.has(name)) this.known.delete(name);
    }
    this.readUpTo = read.readUpTo;
  }

  /** A tool. @throws Problem `not_found` */
  async get(name: string): Promise<CustomTool> {
    const tool = await this.find(name);
    if (!tool) throw new Problem('not_found', `There is no custom tool named ${JSON.stringify(name)}`);
    return tool;
  }

  /** A tool; null if there is none. */
  async find(name: string): Promise<CustomTool | null> {
    // The database refuses a query for a text that it cannot store.
    const tool = sanitisedText(name) === name ? await this.tools.findOneBy({ name }) : null;
    return tool && this.states.applyTo(tool);
  }

  /** A free number for the user of a new tool, in a cycle through all numbers. */
  async newUserNumber(): Promise<number> {
    for (;;) {
      const [row] = await this.tools.query<{ number: number }[]>(
        `SELECT nextval('custom_tool_users')::integer AS number`,
      );
      const userNumber = row?.number ?? 0;
      if (!(await this.tools.existsBy({ userNumber }))) return userNumber;
    }
  }

  /** Writes only the status, so that changes of other replicas stay. @throws Problem `not_found` */
  async disable(name: string): Promise<CustomTool> {
    const { id } = await this.get(name);
    await this.tools.update({ id }, { status: 'inactive' });
    return this.get(name);
  }

  /** Stores the real path of the tool's command. */
  async pin(name: string, pinnedCommand: string): Promise<void> {
    await this.tools.update({ name }, { pinnedCommand, ...keepUpdatedAt });
  }

  /** Deletes a tool with its revisions. @throws Problem `not_found` */
  async delete(name: string): Promise<void> {
    const tool = await this.get(name);
    await this.tools.delete({ id: tool.id });
  }

  /** The hash of the last imported content of a tool.json. */
  async importedHash(path: string): Promise<string | undefined> {
    return (await this.imports.findOneBy({ path }))?.contentHash;
  }

  /** Deletes an import unless its hash has changed meanwhile. */
  async forgetImport(path: string, contentHash: string): Promise<void> {
    await this.imports.delete({ path, contentHash });
  }

  /** Records that this content of a tool.json was imported. */
  async rememberImport(path: string, contentHash: string): Promise<void> {
    await this.imports.save({ path, contentHash });
  }
}
