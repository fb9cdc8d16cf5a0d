import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, LessThan, QueryFailedError, Repository } from 'typeorm';
import { Problem } from '../../../base/common/errors.js';
import { CustomTool, type ToolStatus } from './custom-tool.entity.js';
import { contentHashOf, type RevisionContent } from './revision-content.js';
import { CustomToolRevision, type RevisionSource } from './tool-revision.entity.js';

/** PostgreSQL's error code for a duplicate key. */
const uniqueViolation = '23505';

/** Author and cause of a change. */
export interface RevisionOrigin {
  readonly source: RevisionSource;
  /** The caller's user id, or `toolkeeper`. */
  readonly by: string;
  readonly restores?: number;
  readonly reason?: string | undefined;
}

/** Rows of custom_tool_revisions, each written in one transaction with its tool. */
@Injectable()
export class ToolRevisionsRepository {
  constructor(
    @InjectRepository(CustomToolRevision) private readonly revisions: Repository<CustomToolRevision>,
  ) {}

  /** Stores a new tool with its first revision. @throws Problem `conflict` if the name is taken */
  async insert(tool: CustomTool, content: RevisionContent, origin: RevisionOrigin): Promise<CustomTool> {
    const first = { ...tool, revision: 1 };
    try {
      return await this.revisions.manager.transaction(async (manager) => {
        await manager.insert(CustomTool, first as never);
        await this.add(manager, first, content, origin);
        return manager.findOneByOrFail(CustomTool, { id: first.id });
      });
    } catch (error) {
      const code =
        error instanceof QueryFailedError ? (error.driverError as { code?: string }).code : undefined;
      if (code === uniqueViolation) throw new Problem('conflict', `The tool name ${tool.name} is taken`);
      throw error;
    }
  }

  /**
   * Stores a changed tool, with a new revision if its content has changed.
   * @param readAs the tool's status when it was read, because another replica may have disabled it meanwhile
   * @throws Problem `not_found` if it was removed, `conflict` if it has changed since it was read
   */
  update(
    tool: CustomTool,
    content: RevisionContent,
    origin: RevisionOrigin,
    readAs: ToolStatus,
  ): Promise<CustomTool> {
    return this.revisions.manager.transaction(async (manager) => {
      const lock = { mode: 'pessimistic_write' } as const;
      const stored = await manager.findOne(CustomTool, { where: { id: tool.id }, lock });
      if (!stored) throw new Problem('not_found', `There is no custom tool named ${tool.name} any more`);
      if (stored.revision !== tool.revision)
        throw new Problem(
          'conflict',
          `${tool.name} was changed meanwhile: it is at revision ${stored.revision}`,
        );
      if ((stored.status === 'inactive') !== (readAs === 'inactive')) {
        const what = stored.status === 'inactive' ? 'disabled' : 'enabled';
        throw new Problem('conflict', `${tool.name} was ${what} meanwhile`);
      }
      const current = await manager.findOneBy(CustomToolRevision, {
        toolId: tool.id,
        revision: tool.revision,
      });
      const isNew = current?.contentHash !== contentHashOf(content);
      const revision = isNew ? tool.revision + 1 : tool.revision;
      if (isNew) await this.add(manager, { ...tool, revision }, content, origin);
      const { id, createdAt: _stays, updatedAt: _isNow, ...row } = tool;
      // Not `save`, because it cannot compare members named like those of Object, such as `constructor`.
      await manager.update(CustomTool, { id }, { ...row, revision } as never);
      return manager.findOneByOrFail(CustomTool, { id });
    });
  }

  /** The newest revision with this content, if any. Replicas may have different files. */
  async numberOf(toolId: string, content: RevisionContent): Promise<number | undefined> {
    const where = { toolId, contentHash: contentHashOf(content) };
    const newest = { select: { revision: true }, where, order: { revision: 'DESC' } } as const;
    return (await this.revisions.findOne(newest))?.revision;
  }

  /** One revision. @throws Problem `not_found` */
  async get(
    { id: toolId, name }: Pick<CustomTool, 'id' | 'name'>,
    revision: number,
  ): Promise<CustomToolRevision> {
    const row = await this.revisions.findOneBy({ toolId, revision });
    if (!row) throw new Problem('not_found', `${name} has no revision ${revision}`);
    return row;
  }

  /** Revisions of a tool, newest first. @param before only revisions with a smaller number */
  list(toolId: string, limit: number, before?: number): Promise<CustomToolRevision[]> {
    const where = { toolId, ...(before !== undefined && { revision: LessThan(before) }) };
    return this.revisions.find({ where, order: { revision: 'DESC' }, take: limit });
  }

  private async add(
    manager: EntityManager,
    { id: toolId, revision }: Pick<CustomTool, 'id' | 'revision'>,
    content: RevisionContent,
    { source, by, restores, reason }: RevisionOrigin,
  ): Promise<void> {
    const { configuration, env, files } = content;
    const contentHash = contentHashOf(content);
    const who = { source, restores: restores ?? null, reason: reason ?? null, createdBy: by };
    const row = { toolId, revision, contentHash, configuration, env, files, ...who };
    await manager.insert(CustomToolRevision, row as never);
  }
}
