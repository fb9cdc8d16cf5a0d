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
 * Rows that changed since a reading, and how far this reading goes: rows that a transaction wrote which was open then, or
 * began later. Clocks and the order of commits do not matter. $1 null: all rows.
 */
const selectChanges = `
  SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS "readUpTo", count(*)::int AS count, coalesce(json_agg(
    json_build_object('id', id, 'name', name, 'revision', revision, 'status', status, 'healthStatus', health_status)
  ) FILTER (WHERE $1::xid8 IS NULL OR age(xmin) <= age($1::xid8::xid)), '[]') AS changed
  FROM custom_tools`;

interface Changes {
  readonly readUpTo: string;
  /** Number of all rows. */
  readonly count: number;
  readonly changed: readonly ToolRow[];
}

/** A health check is no change of the tool: `updatedAt` stays. */
const unchanged = { updatedAt: () => 'updated_at' };

/** Rows of custom_tools and custom_tool_imports. */
@Injectable()
export class CustomToolsRepository {
  private readonly known = new Map<string, ToolRow>();
  private readUpTo: string | null = null;

  constructor(
    @InjectRepository(CustomTool) private readonly tools: Repository<CustomTool>,
    @InjectRepository(CustomToolImport) private readonly imports: Repository<CustomToolImport>,
    private readonly states: ToolStates,
    private readonly database: DatabaseHealth,
  ) {
    // Another server may number its transactions otherwise.
    database.connections.subscribe(() => (this.readUpTo = null));
  }

  /** Sorted by name. */
  async list(status?: ToolStatus): Promise<CustomTool[]> {
    const tools = (await this.tools.find({ order: { name: 'ASC' } })).map((row) => this.states.over(row));
    return status ? tools.filter((tool) => tool.status === status) : tools;
  }

  /** Names of all tools, as of the last reading of changes. @throws DatabaseUnavailable while it does not answer */
  names(): Iterable<string> {
    this.database.assertAnswers();
    return this.known.keys();
  }

  /** A tool as of the last reading of changes, and as it is here. */
  row(name: string): ToolRow | undefined {
    const row = this.known.get(name);
    return row && this.states.over({ ...row });
  }

  /** Reads what changed since the last reading; readings must not overlap. */
  async readChanges(): Promise<void> {
    const [read] = await this.tools.query<[Changes]>(selectChanges, [this.readUpTo]);
    for (const row of read.changed) this.known.set(row.name, row);
    if (this.known.size > read.count) {
      const left = new Set((await this.tools.find({ select: { name: true } })).map(({ name }) => name));
      for (const name of this.known.keys()) if (!left.has(name)) this.known.delete(name);
    }
    this.readUpTo = read.readUpTo;
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
    return tool && this.states.over(tool);
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
