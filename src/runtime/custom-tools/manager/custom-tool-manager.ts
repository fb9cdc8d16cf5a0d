import { Injectable } from '@nestjs/common';
import { Problem } from '../../../base/common/errors.js';
import { KeyedMutex } from '../../../base/common/keyed-mutex.js';
import type { Tool } from '../../../web/contract/tool.js';
import type { ToolOutcome } from '../../../web/contract/tool-outcome.js';
import { type ToolHistory, ToolRegistry } from '../../../call/door/tool-registry.js';
import { serverOf } from '../../mcp-client/mcp-review.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { CustomToolsRepository } from '../state/custom-tools.repository.js';
import { columnsOfBroken } from '../state/tool-state.js';
import { type RevisionOrigin, ToolRevisionsRepository } from '../entity/tool-revisions.repository.js';
import { restoreRevision } from '../entity/revision-content.js';
import type { ProgramFile } from '../entity/tool-revision.entity.js';
import { type MakeListener, ToolInspector, type ToolPlan } from '../launch/tool-inspector.js';
import { PoolOutput } from '../logs/pool-output.js';
import type { LogBook } from '../logs/tool-logs.js';
import type { CustomToolWrapper } from '../running/custom-tool-wrapper.js';
import { RunningTools } from '../running/running-tools.js';
import { ToolSupervisor } from '../state/tool-supervisor.js';
import { type ToolRequest, ToolPlanner } from './tool-planner.js';

/** A call that belongs to a dry run. */
export interface DryCall {
  /** The full name of one of an MCP server's tools. */
  readonly tool: string | undefined;
  /** Calls the tool that the dry run built. */
  run(tool: Tool): Promise<ToolOutcome>;
}

/** A stored tool, with warnings for its author. */
export type SavedTool = CustomTool & { readonly warnings?: readonly string[] };

/** Registers, changes and removes custom tools. Their rows are authoritative; running tools follow them. */
@Injectable()
export class CustomToolManager implements ToolHistory {
  /** Serialises the changes of each tool. */
  private readonly mutex = new KeyedMutex();

  constructor(
    private readonly planner: ToolPlanner,
    private readonly repository: CustomToolsRepository,
    private readonly revisions: ToolRevisionsRepository,
    private readonly inspector: ToolInspector,
    private readonly running: RunningTools,
    private readonly supervisor: ToolSupervisor,
    private readonly registry: ToolRegistry,
  ) {
    registry.history = this;
  }

  /**
   * Registers or changes a tool, once its executable has answered. Calls in flight end on the old configuration, new ones
   * start on the new.
   * @throws Problem `invalid_request` with the field, `not_found`, `conflict`; nothing is stored then
   */
  store(request: ToolRequest, origin: RevisionOrigin): Promise<SavedTool> {
    const { name } = 'create' in request ? request.create : request;
    return this.mutex.run(name, async () => {
      const isNew = 'create' in request && !request.replaces;
      if (isNew && (this.registry.find(name) || (await this.repository.find(name))))
        throw new Problem('conflict', `The tool name ${name} is taken`);
      return this.commit(await this.planner.plan(request), origin);
    });
  }

  /**
   * Runs the tool that a request would result in, beside the running one. Stores nothing.
   * @param book receives the output of its processes
   * @throws Problem with which the request would be refused; Refusal if the call was not run
   */
  async dryRun(request: ToolRequest, book: LogBook, call?: DryCall) {
    const plan = await this.planner.plan(request, listenerOf(book));
    const { tool, handshake = {} } = plan;
    const wrapper = await this.running.build(plan, tool.revision, { book });
    try {
      const outcome = call ? await call.run(offeredAs(call.tool ?? tool.name, wrapper)) : null;
      const effectiveSandbox = this.running.effective(tool, wrapper);
      const differences = await this.inspector.differences(plan);
      return { tool, handshake, differences, effectiveSandbox, outcome };
    } finally {
      await this.running.retire(wrapper);
      await this.forgetUnregistered(tool.name, call?.tool);
    }
  }

  /** The present files of a tool's program, which may differ from those that run. */
  filesOf({ tool, running }: CustomToolWrapper): Promise<readonly ProgramFile[]> {
    return this.inspector.filesOf(tool, running.spec);
  }

  /**
   * Runs a tool's present files if they work; status `error` then becomes `active`.
   * @throws Problem `invalid_request` with the reason; the running revision is then kept
   */
  reload(name: string): Promise<void> {
    return this.mutex.run(name, async () => {
      const tool = await this.repository.find(name);
      if (!tool || tool.status === 'inactive') return;
      await this.commit(await this.planner.plan({ name }), reloadOrigin);
    });
  }

  /** Deletes a tool and stops it. @throws Problem `not_found` */
  remove(name: string): Promise<void> {
    return this.mutex.run(name, async () => {
      await this.repository.delete(name);
      this.running.delete(name);
    });
  }

  /** Makes a tool inactive and stops it. @throws Problem `not_found` */
  disable(name: string): Promise<CustomTool> {
    return this.mutex.run(name, async () => {
      const saved = await this.repository.disable(name);
      this.running.disable(saved);
      this.supervisor.rowWritten(saved);
      return saved;
    });
  }

  /**
   * Runs `work` with the tool of this name, active or not. Processes started for it end afterwards.
   * @param revision absent: the current one
   * @throws Problem `not_found`
   */
  async withTool<T>(
    name: string,
    revision: number | undefined,
    work: (tool: Tool) => Promise<T>,
  ): Promise<T> {
    const tool = (await this.repository.find(name)) ?? (await this.repository.get(serverOf(name) ?? name));
    if (revision === undefined && this.running.awaits(tool.name)) await this.load(tool.name);
    const running = revision === undefined ? this.running.get(tool.name) : undefined;
    if (running) return work(offeredAs(name, running));
    if (revision !== undefined) restoreRevision(tool, await this.revisions.get(tool, revision));
    const plan = await this.inspector.prepare(tool);
    // An earlier revision runs on processes of its own.
    const temporary =
      revision === undefined
        ? await this.running.build(plan, tool.revision)
        : await this.running.build(plan, revision, {});
    try {
      return await work(offeredAs(name, temporary));
    } finally {
      await this.running.retire(temporary);
    }
  }

  /** Applies the stored row to the running tool, at the start and after a change by another replica. */
  load(name: string): Promise<void> {
    return this.mutex.run(name, () =>
      this.loadRow(name).catch((error: unknown) => {
        // Another replica stored the changed files first: loads its revision.
        if (error instanceof Problem && error.code === 'conflict') return this.loadRow(name);
        throw error;
      }),
    );
  }

  /** Removes the metrics of a dry run whose tool does not exist. */
  private async forgetUnregistered(name: string, called = name): Promise<void> {
    if (this.running.get(name) || (await this.repository.find(name))) return;
    for (const each of new Set([name, called])) this.running.deletions.emit(each);
  }

  /** Starts, replaces, disables or deletes the running tool, as its row demands. */
  private async loadRow(name: string): Promise<void> {
    const tool = await this.repository.find(name);
    if (!tool) return this.running.delete(name);
    if (tool.status === 'inactive') return this.running.disable(tool);
    if (!this.running.get(name)?.isOf(tool)) await this.activate(tool);
  }

  /** Stores a plan, and runs it unless the same runs already. */
  private async commit(plan: ToolPlan, origin: RevisionOrigin): Promise<SavedTool> {
    const { tool, content, readAs, warnings } = plan;
    const saved =
      readAs === undefined
        ? await this.revisions.insert(tool, content, origin)
        : await this.revisions.update(tool, content, origin, readAs);
    this.supervisor.rowWritten(saved);
    // A tool with status `error` always gets a new pool, because its present one failed to start.
    const isRunning = readAs !== 'error' && this.running.get(saved.name)?.alreadyRuns(saved, content);
    if (saved.status !== 'inactive' && !isRunning) await this.run(plan, saved, saved.revision);
    return warnings.length > 0 ? { ...saved, warnings } : saved;
  }

  /** Runs a stored tool. If its files differ from those of its revision, they become a new revision. */
  private async activate(tool: CustomTool): Promise<void> {
    const plan = await this.inspector.prepare(tool);
    const revision = await this.revisions.numberOf(tool.id, plan.content);
    if (revision !== undefined || !('spec' in plan.start))
      return this.run(plan, tool, revision ?? tool.revision);
    const current = await this.revisions.update(tool, plan.content, reloadOrigin, tool.status);
    await this.run(plan, current, current.revision);
  }

  /**
   * Builds the tool's wrapper and makes it callable. A wrapper that cannot start does not replace a running one of the same
   * configuration, because the cause may be temporary.
   */
  private async run(plan: ToolPlan, tool: CustomTool, revision: number): Promise<void> {
    const wrapper = await this.running.build({ ...plan, tool }, revision);
    if ('unavailable' in wrapper.backend && this.running.get(tool.name)?.runsSettingsOf(tool)) return;
    this.running.put(wrapper);
    if ('unavailable' in wrapper.backend) {
      await this.supervisor.report(tool.name, columnsOfBroken(wrapper.backend.unavailable));
    } else if (wrapper.backend.realPath !== tool.pinnedCommand) {
      await this.repository.pin(tool.name, wrapper.backend.realPath);
    }
  }
}

/** The origin of revisions that a start of changed files makes. */
export const reloadOrigin = { source: 'reload', by: 'toolkeeper' } as const;

/** The tool of this name that a wrapper offers. @throws Problem `not_found` */
function offeredAs(name: string, wrapper: CustomToolWrapper): Tool {
  const offered = wrapper.offered();
  const tool = offered.find(({ definition }) => definition.name === name);
  if (tool) return tool;
  const some = offered.slice(0, 5).map(({ definition }) => definition.name);
  const instead =
    name === wrapper.tool.name
      ? `is an MCP server: try one of its tools, such as ${some.join(', ')}`
      : 'is none of its tools';
  throw new Problem('not_found', `${name} ${instead}`);
}

/** Writes the output of an inspected executable into a log. */
const listenerOf =
  (book: LogBook): MakeListener =>
  (redactor) => {
    const output = new PoolOutput(book, redactor);
    return (event) => output.on(event);
  };
