import { Injectable } from '@nestjs/common';
import type { Tool } from '../../tool-contract/tool.js';
import { PastTools, type PastToolsKeeper } from '../../tools/past-tools.js';
import { restore } from '../entity/revision-content.js';
import { ToolRevisionsRepository } from '../entity/tool-revisions.repository.js';
import { ToolInspector } from '../launch/tool-inspector.js';
import { serverOf } from '../mcp/mcp-names.js';
import { RunningTools } from '../running/running-tools.js';
import { CustomToolManager, offeredAs } from './custom-tool-manager.js';

/** Custom tools that are disabled, or as an earlier revision configured them. */
@Injectable()
export class PastRevisions implements PastToolsKeeper {
  constructor(
    private readonly manager: CustomToolManager,
    private readonly revisions: ToolRevisionsRepository,
    private readonly inspector: ToolInspector,
    private readonly running: RunningTools,
    past: PastTools,
  ) {
    past.join(this);
  }

  async withTool<T>(
    name: string,
    revision: number | undefined,
    work: (tool: Tool) => Promise<T>,
  ): Promise<T> {
    if (revision === undefined) return this.manager.withTool(name, work);
    const tool = await this.manager.get(serverOf(name) ?? name);
    restore(tool, await this.revisions.get(tool, revision));
    const wrapper = await this.running.build(await this.inspector.prepare(tool), revision, {});
    try {
      return await work(offeredAs(name, wrapper));
    } finally {
      await this.running.retire(wrapper);
    }
  }
}
