import { Injectable } from '@nestjs/common';
import { Problem } from '../../../base/common/errors.js';
import { KeyedMutex } from '../../../base/common/keyed-mutex.js';
import type { CustomTool, ToolStatus } from '../entity/custom-tool.entity.js';
import type { ProgramFile } from '../entity/tool-revision.entity.js';
import type { Tool } from '../../../web/contract/tool.js';
import { type ToolHistory, ToolRegistry } from '../../../call/door/tool-registry.js';
import { serverOf } from '../../mcp-client/mcp-review.js';
import { RunningTools } from '../running/running-tools.js';
import { ToolSupervisor } from '../state/tool-supervisor.js';
import type { CustomToolWrapper } from '../running/custom-tool-wrapper.js';
import type { CustomToolCreate, CustomToolUpdate } from '../entity/tool-settings.js';
import { CustomToolsRepository } from '../state/custom-tools.repository.js';
import { answeredNow, brokenBy } from '../state/tool-state.js';
import { EnvCipher } from '../../secrets/env-cipher.js';
import {
  type Inspection,
  type PreparedTool,
  ToolInspector,
  type ValidationView,
} from '../launch/tool-inspector.js';
import { differingFiles, isConfiguredAs, restore } from '../entity/revision-content.js';
import { offeredAs, Registrations, type Request } from './registrations.js';
import { completed } from './tool-registration.js';
import { type RevisionOrigin, ToolRevisionsRepository } from '../entity/tool-revisions.repository.js';

/** Registers, changes and removes custom tools. The database row is the truth. */
@Injectable()
export class CustomToolManager implements ToolHistory {
  private readonly oneAtATime = new KeyedMutex();

  constructor(
    private readonly registrations: Registrations,
    private readonly repository: CustomToolsRepository,
    private readonly revisions: ToolRevisionsRepository,
    private readonly inspector: ToolInspector,
    private readonly running: RunningTools,
    private readonly supervisor: ToolSupervisor,
    private readonly box: EnvCipher,
    registry: ToolRegistry,
  ) {
    registry.history = this;
  }

  list(status?: ToolStatus): Promise<CustomTool[]> {
    return this.repository.list(status);
  }

  get(name: string): Promise<CustomTool> {
    return this.repository.get(name);
  }

  /**
   * Starts the executable once, fills what the registration omits from its handshake, stores and activates it.
   * @param bundle the files that it brings along
   * @throws Problem `invalid_request` with the field, `conflict` if the name is taken; nothing is stored then
   */
  register(create: CustomToolCreate, origin: RevisionOrigin, bundle?: string): Promise<CustomTool> {
    return this.oneAtATime.run(create.name, async () => {
      if (this.running.isTaken(create.name) || (await this.repository.find(create.name))) {
        throw new Problem('conflict', `The tool name ${create.name} is taken`);
      }
      const { prepared } = await this.registrations.answered(create, bundle);
      return this.add(prepared, origin);
    });
  }

  /** Registers or changes a tool by the files that it brings along. */
  take(request: Request, by: string): Promise<CustomTool> {
    const origin = { source: 'bundle', by } as const;
    return 'create' in request
      ? this.register(request.create, origin, request.bundle)
      : this.update(request.name, request.changes, origin, request.bundle);
  }

  /** Stores a tool that cannot be started here, with the reason; it is tried again. */
  registerBroken(create: CustomToolCreate, reason: string, origin: RevisionOrigin): Promise<CustomTool> {
    return this.oneAtATime.run(create.name, async () => {
      const draft = { ...(await this.registrations.draft(create)), ...brokenBy(reason) };
      return this.add(await this.inspector.prepare(await completed(draft, create)), origin);
    });
  }

  /** Replaces a tool by the current content of its tool.json; omitted members are reset to their defaults. */
  reimport(create: CustomToolCreate, origin: RevisionOrigin): Promise<CustomTool> {
    return this.oneAtATime.run(create.name, async () => {
      const stored = await this.repository.get(create.name);
      const draft = await this.registrations.draft(create, stored);
      const inspected = await this.inspector.inspect(draft);
      return this.settle(await completed(draft, create, inspected), inspected, stored.status, origin);
    });
  }

  /** The files of a tool's program as they are now, which may be others than those it runs. */
  filesOf({ tool, running }: CustomToolWrapper): Promise<readonly ProgramFile[]> {
    return this.inspector.filesOf(tool, running.spec);
  }

  /**
   * Runs a tool's files as they are now, if they make a tool; that makes one of status `error` active.
   * @throws Problem `invalid_request` with the reason; then what ran before goes on running
   */
  reload(name: string): Promise<void> {
    return this.oneAtATime.run(name, async () => {
      const tool = await this.repository.find(name);
      if (!tool || tool.status === 'inactive') return;
      await this.settle(tool, await this.inspector.inspect(tool), tool.status, ofItself);
    });
  }

  /** Calls in flight end on the old configuration, new ones start on the new. */
  update(
    name: string,
    changes: CustomToolUpdate,
    origin: RevisionOrigin,
    bundle?: string,
  ): Promise<CustomTool> {
    return this.change(name, origin, (tool) => this.registrations.apply(tool, changes, bundle));
  }

  /**
   * Changes a tool by `apply`, once its executable has answered with the change.
   * @throws Problem `not_found`, `invalid_request` with the field, `conflict`; nothing has changed then
   */
  change(
    name: string,
    origin: RevisionOrigin,
    apply: (tool: CustomTool) => Promise<void> | void,
  ): Promise<CustomTool> {
    return this.oneAtATime.run(name, async () => {
      const tool = await this.repository.get(name);
      await apply(tool);
      const inspected = await this.registrations.answeredAgain(tool);
      return this.settle(tool, inspected, tool.status, origin);
    });
  }

  /**
   * Brings a revision's configuration back as a new revision, once its executable has answered.
   * @throws Problem `conflict` when only files differ: their content is not kept
   */
  rollback(name: string, revision: number, by: string): Promise<CustomTool> {
    return this.change(name, { source: 'rollback', by, restores: revision }, async (tool) => {
      const wanted = await this.revisions.get(tool, revision);
      if (isConfiguredAs(tool, wanted)) {
        const { content } = await this.inspector.contentOf(tool);
        const files = differingFiles(content.files, wanted.files);
        if (files.length > 0)
          throw new Problem(
            'conflict',
            `Revision ${revision} has the configuration of now and differs only in files, whose content is not kept: ` +
              `put back ${files.join(', ')}`,
          );
      }
      restore(tool, wanted);
    });
  }

  remove(name: string): Promise<void> {
    return this.oneAtATime.run(name, async () => {
      await this.repository.delete(name);
      this.running.delete(name);
    });
  }

  /** @throws Problem `invalid_request` if the executable does not answer; its status stays as it was */
  enable(name: string): Promise<CustomTool> {
    return this.oneAtATime.run(name, async () => {
      const tool = await this.repository.get(name);
      return this.settle(tool, await this.inspector.inspect(tool), 'active', ofItself);
    });
  }

  disable(name: string): Promise<CustomTool> {
    return this.oneAtATime.run(name, async () => {
      const saved = await this.repository.disable(name);
      this.running.disable(saved);
      this.supervisor.stored(saved);
      return saved;
    });
  }

  async validate(name: string): Promise<ValidationView> {
    return this.inspector.validate(await this.repository.get(name));
  }

  /**
   * Runs `work` with the tool, active or not, that is called by this name; processes started for it end afterwards.
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
    const active = revision === undefined && this.running.get(tool.name);
    if (active) return work(offeredAs(name, active));
    if (revision !== undefined) restore(tool, await this.revisions.get(tool, revision));
    const prepared = await this.inspector.prepare(tool);
    const temporary = await this.running.build(
      prepared,
      revision ?? tool.revision,
      revision === undefined ? undefined : {},
    );
    try {
      return await work(offeredAs(name, temporary));
    } finally {
      await this.running.retire(temporary);
    }
  }

  /** Applies the stored row to the running tool, at the start and after a change by another replica. */
  load(name: string): Promise<void> {
    return this.oneAtATime.run(name, () =>
      this.loadRow(name).catch((error: unknown) => {
        // Another replica stored the changed files first: what it stored is loaded.
        if (error instanceof Problem && error.code === 'conflict') return this.loadRow(name);
        throw error;
      }),
    );
  }

  private async loadRow(name: string): Promise<void> {
    const tool = await this.repository.find(name);
    if (!tool) return this.running.delete(name);
    if (tool.status === 'inactive') return this.running.disable(tool);
    if (!this.running.get(name)?.isOf(tool)) await this.activate(tool);
  }

  private async add(prepared: PreparedTool, origin: RevisionOrigin): Promise<CustomTool> {
    const added = await this.revisions.insert(prepared.tool, prepared.content, origin);
    this.supervisor.stored(added);
    await this.run(prepared, added, added.revision);
    return added;
  }

  /** Stores a tool whose executable has just answered: that mends status `error`; an inactive tool stays so. */
  private async settle(
    tool: CustomTool,
    inspected: Inspection,
    before: ToolStatus,
    origin: RevisionOrigin,
  ): Promise<CustomTool> {
    const { status: readAs } = tool;
    const status = before === 'inactive' ? 'inactive' : 'active';
    // The values may have come under a new key since the row was read: nothing goes back to an old one.
    const env = this.box.renew(tool.id, tool.env);
    Object.assign(tool, answeredNow(inspected.health), { status, env });
    const prepared = await this.inspector.prepare(tool, inspected);
    const saved = await this.revisions.update(tool, prepared.content, origin, readAs);
    this.supervisor.stored(saved);
    // Processes of a tool that could not be started are started as that was tried in vain: it gets others.
    const running = this.running.get(saved.name);
    const runs = readAs !== 'error' && running?.serves(saved, prepared.content);
    if (status === 'active' && !runs) await this.run(prepared, saved, saved.revision);
    return saved;
  }

  /** Runs a stored tool. Its files may be others than those of its revision: then they are a revision of their own. */
  private async activate(tool: CustomTool): Promise<void> {
    const prepared = await this.inspector.prepare(tool);
    const { content, start } = prepared;
    let current = tool;
    let revision = await this.revisions.numberOf(tool.id, content);
    if (revision === undefined && (tool.revision === 0 || 'spec' in start)) {
      const source = tool.revision === 0 ? 'register' : 'reload';
      current = await this.revisions.update(tool, content, { ...ofItself, source }, tool.status);
      revision = current.revision;
    }
    await this.run(prepared, current, revision ?? tool.revision);
  }

  /**
   * Builds the tool's wrapper and makes it callable. One that cannot be started takes no place from one that
   * runs as it would: what is in the way of its files may pass.
   */
  private async run(prepared: PreparedTool, tool: CustomTool, revision: number): Promise<void> {
    const wrapper = await this.running.build({ ...prepared, tool }, revision);
    if ('unavailable' in wrapper.backend && this.running.get(tool.name)?.runsLike(tool)) return;
    this.running.put(wrapper);
    if ('unavailable' in wrapper.backend) {
      await this.supervisor.found(tool.name, brokenBy(wrapper.backend.unavailable));
    } else if (wrapper.backend.realPath !== tool.pinnedCommand) {
      await this.repository.pin(tool.name, wrapper.backend.realPath);
    }
  }
}

/** Changes made by the server itself. */
const ofItself = { source: 'reload', by: 'toolkeeper' } as const;
