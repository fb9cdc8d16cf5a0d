import { Injectable } from '@nestjs/common';
import { Problem } from '../common/errors.js';
import type { Tool } from '../tool-contract/tool.js';
import type { WithTool } from './tools.service.js';

/** A keeper of tools that cannot be called now, or not as they were. */
export interface ToolHistorySource {
  /**
   * Runs work with a tool, active or not.
   * @param revision absent: the current one
   * @throws Problem `not_found`
   */
  withTool<T>(name: string, revision: number | undefined, work: (tool: Tool) => Promise<T>): Promise<T>;
}

/** Tools as they were. The room that keeps them joins in at the start: the door's room knows none of the others. */
@Injectable()
export class ToolHistory {
  private keeper: ToolHistorySource | undefined;

  join(keeper: ToolHistorySource): void {
    this.keeper = keeper;
  }

  /** @throws Problem `not_found` when it runs */
  withTool(name: string, revision: number | undefined): WithTool {
    const { keeper } = this;
    if (keeper) return (work) => keeper.withTool(name, revision, work);
    throw new Problem('not_found', `There is no custom tool named ${name}`);
  }
}
