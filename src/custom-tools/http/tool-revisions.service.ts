import { Injectable } from '@nestjs/common';
import { canonicalJson } from '../../common/canonical-json.js';
import { Problem } from '../../common/errors.js';
import { keyIn, type Page, pageFrom } from '../../common/page.js';
import type { PageQuery } from '../../common/shapes.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { CustomToolManager } from '../manager/custom-tool-manager.js';
import { type CustomToolView, customToolView } from './custom-tool.shapes.js';
import { ToolInspector } from '../launch/tool-inspector.js';
import { RunningTools } from '../running/running-tools.js';
import {
  changesBetween,
  configurationOf,
  differingFiles,
  envIdentity,
  restore,
} from '../entity/revision-content.js';
import type { CustomToolRevision } from '../entity/tool-revision.entity.js';
import {
  type RevisionDiffView,
  type RevisionParams,
  revisionSummary,
  type RevisionSummaryView,
  type RevisionView,
  revisionView,
} from './tool-revisions.shapes.js';
import { ToolRevisionsRepository } from '../entity/tool-revisions.repository.js';

/** What a tool was, what changed, and the way back. */
@Injectable()
export class ToolRevisionsService {
  constructor(
    private readonly manager: CustomToolManager,
    private readonly revisions: ToolRevisionsRepository,
    private readonly running: RunningTools,
    private readonly inspector: ToolInspector,
  ) {}

  /** The newest first. */
  async list(name: string, { limit, cursor }: PageQuery): Promise<Page<RevisionSummaryView>> {
    const { id } = await this.manager.get(name);
    const rows = await this.revisions.list(id, limit + 1, keyIn(cursor, revisionOf));
    return pageFrom(rows.map(revisionSummary), ({ revision }) => String(revision), limit);
  }

  async get({ name, revision }: RevisionParams): Promise<RevisionView> {
    return revisionView(await this.revisions.get(await this.manager.get(name), revision));
  }

  /** What `revision` changed since `against`; the first revision of all changed everything. */
  async diff({ name, revision }: RevisionParams, against = revision - 1): Promise<RevisionDiffView> {
    const tool = await this.manager.get(name);
    const after = await this.revisions.get(tool, revision);
    const before = against === 0 ? undefined : await this.revisions.get(tool, against);
    return { revision, against: before?.revision ?? null, changes: changesBetween(before, after) };
  }

  /**
   * Brings a revision's configuration back as a new revision, once its executable has answered.
   * @throws Problem `conflict` when only files differ: their content is not kept
   */
  async rollback(name: string, revision: number, by: string): Promise<CustomToolView> {
    const origin = { source: 'rollback', by, restores: revision } as const;
    const restored = await this.manager.change(name, origin, async (tool) => {
      const wanted = await this.revisions.get(tool, revision);
      await this.refuseFilesOnly(tool, wanted);
      restore(tool, wanted);
    });
    return customToolView(restored, this.running);
  }

  private async refuseFilesOnly(tool: CustomTool, wanted: CustomToolRevision): Promise<void> {
    const { configuration, env } = wanted;
    if (
      canonicalJson([configurationOf(tool), envIdentity(tool.env)]) !==
      canonicalJson([configuration, envIdentity(env)])
    )
      return;
    const { content } = await this.inspector.contentOf(tool);
    const files = differingFiles(content.files, wanted.files);
    if (files.length === 0) return;
    throw new Problem(
      'conflict',
      `Revision ${wanted.revision} has the configuration of now and differs only in files, whose content is not kept: ` +
        `put back ${files.join(', ')}`,
    );
  }
}

function revisionOf(key: string): number | undefined {
  const revision = Number(key);
  return Number.isInteger(revision) && revision > 0 && revision < 2 ** 31 ? revision : undefined;
}
