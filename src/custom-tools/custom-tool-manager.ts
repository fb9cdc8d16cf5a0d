import { Inject, Injectable } from '@nestjs/common';
import { Problem } from '../common/errors.js';
import { newId } from '../common/ids.js';
import { KeyedMutex } from '../common/keyed-mutex.js';
import { pageOf, type Page } from '../common/page.js';
import { storableJson, storableText } from '../common/pg-text.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { CallMetrics } from '../observability/call-metrics.js';
import { ProcessMetrics } from '../observability/process-metrics.js';
import type { Handshake } from '../process-pool/pool.types.js';
import { ToolRegistry } from '../tools/tool-registry.js';
import type { CustomTool, ToolStatus } from './custom-tool.entity.js';
import { CustomToolRuntimes } from './custom-tool-runtimes.js';
import type { CustomToolWrapper } from './custom-tool-wrapper.js';
import type { CustomToolCreate, CustomToolUpdate, ListCustomToolsQuery } from './custom-tools.dto.js';
import { CustomToolsRepository } from './custom-tools.repository.js';
import { ToolLogs } from './logs/tool-logs.js';
import { changedEnv, sealedEnv } from './secrets/env-changes.js';
import { SecretBox, type StoredEnv } from './secrets/secret-box.js';
import { ToolInspector } from './tool-inspector.js';
import { wrong } from './wrong-field.js';

/** Registers, changes and removes custom tools (seed 003, CustomToolManager). The database row is the truth. */
@Injectable()
export class CustomToolManager {
  private readonly oneAtATime = new KeyedMutex();

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly repository: CustomToolsRepository,
    private readonly inspector: ToolInspector,
    private readonly runtimes: CustomToolRuntimes,
    private readonly registry: ToolRegistry,
    private readonly callMetrics: CallMetrics,
    private readonly processMetrics: ProcessMetrics,
    private readonly box: SecretBox,
    private readonly logs: ToolLogs,
  ) {}

  async list({ status, limit, cursor }: ListCustomToolsQuery): Promise<Page<CustomTool>> {
    return pageOf(await this.repository.list(status), (tool) => tool.name, limit, cursor);
  }

  get(name: string): Promise<CustomTool> {
    return this.repository.get(name);
  }

  /**
   * Starts the executable once, fills what the registration omits from its handshake, stores and activates it.
   * @throws Problem `invalid_request` with the field, `conflict` when the name is taken; nothing is stored then
   */
  register(create: CustomToolCreate): Promise<CustomTool> {
    return this.oneAtATime.run(create.name, async () => {
      if (this.registry.find(create.name) ?? (await this.repository.find(create.name))) {
        throw new Problem('conflict', `The tool name ${create.name} is taken`);
      }
      const draft = this.draft(create);
      this.checkPool(draft);
      if (create.inputSchema) this.inspector.compile(create.inputSchema);
      const { handshake, realPath } = await this.inspector.inspect(draft);
      const complete = this.complete(draft, create, handshake);
      const tool = await this.repository.insert({ ...complete, pinnedCommand: realPath });
      await this.activate(tool);
      return tool;
    });
  }

  /** Stores a tool that cannot be started here, with the reason; its monitor tries again. */
  registerBroken(create: CustomToolCreate, reason: string): Promise<CustomTool> {
    return this.oneAtATime.run(create.name, async () => {
      const draft = { ...this.draft(create), ...brokenBy(reason) };
      const tool = await this.repository.insert(this.complete(draft, create, {}));
      await this.activate(tool);
      return tool;
    });
  }

  /** What its tool.json says now, as a whole: members that it leaves out take their defaults again. */
  reimport(create: CustomToolCreate): Promise<CustomTool> {
    return this.oneAtATime.run(create.name, async () => {
      const { id, env, status: before } = await this.repository.get(create.name);
      const draft = this.draft(create, id, env);
      this.checkPool(draft);
      const { handshake, realPath } = await this.inspector.inspect(draft);
      return this.settle({ ...this.complete(draft, create, handshake), pinnedCommand: realPath }, before);
    });
  }

  /** Tries a tool of status `error` again; a good answer makes it active. */
  recover(name: string): Promise<void> {
    return this.oneAtATime.run(name, async () => {
      const tool = await this.repository.find(name);
      if (tool?.status !== 'error') return;
      await this.inspector.inspect(tool);
      await this.settle(tool, 'active');
    });
  }

  /** Calls in flight end on the old configuration, new ones start on the new. */
  update(name: string, changes: CustomToolUpdate): Promise<CustomTool> {
    return this.oneAtATime.run(name, async () => {
      const tool = await this.repository.get(name);
      const { annotations, env = {}, ...others } = withoutUndefined(changes);
      Object.assign(tool, others, {
        annotations: { ...tool.annotations, ...annotations },
        env: changedEnv(this.box, tool.id, tool.env, env),
      });
      // Who names the command means what it leads to now.
      if (changes.command !== undefined) tool.pinnedCommand = null;
      this.checkPool(tool);
      this.inspector.compile(tool.inputSchema);
      tool.pinnedCommand = (await this.inspector.inspect(tool)).realPath;
      return this.settle(tool, tool.status);
    });
  }

  remove(name: string): Promise<void> {
    return this.oneAtATime.run(name, async () => {
      await this.repository.delete(name);
      this.deactivate(name);
      this.callMetrics.forget(name);
      this.processMetrics.forget(name);
      this.logs.forget(name);
    });
  }

  /** @throws Problem `invalid_request` when the executable does not answer; its status stays as it was */
  enable(name: string): Promise<CustomTool> {
    return this.oneAtATime.run(name, async () => {
      const tool = await this.repository.get(name);
      await this.inspector.inspect(tool);
      return this.settle(tool, 'active');
    });
  }

  disable(name: string): Promise<CustomTool> {
    return this.oneAtATime.run(name, async () => {
      const tool = await this.repository.get(name);
      const saved = await this.repository.update(Object.assign(tool, { status: 'inactive' as const }));
      this.deactivate(name);
      return saved;
    });
  }

  async validate(name: string): Promise<{ valid: boolean; errors: string[] }> {
    const errors = await this.inspector.mismatches(await this.repository.get(name));
    return { valid: errors.length === 0, errors };
  }

  /** Runs `work` with the tool's wrapper, active or not; an inactive tool's processes end afterwards. */
  async withWrapper<T>(name: string, work: (wrapper: CustomToolWrapper) => Promise<T>): Promise<T> {
    const tool = await this.repository.get(name);
    const active = this.runtimes.get(name);
    if (active) return work(active);
    const temporary = await this.runtimes.build(tool);
    try {
      return await work(temporary);
    } finally {
      await this.runtimes.retire(temporary);
    }
  }

  /** Loads a tool at the start, as its row is by then. */
  load(name: string): Promise<void> {
    return this.oneAtATime.run(name, async () => {
      const tool = await this.repository.find(name);
      if (!tool) return;
      this.logs.status(name, tool.status, tool.errorMessage);
      if (tool.status !== 'inactive') await this.activate(tool);
    });
  }

  /** Stores a tool whose executable has just answered: that mends status `error`; an inactive tool stays so. */
  private async settle(tool: CustomTool, before: ToolStatus): Promise<CustomTool> {
    const status = before === 'inactive' ? 'inactive' : 'active';
    // The values may have come under a new key since the row was read: nothing goes back to an old one.
    const env = this.box.renew(tool.id, tool.env);
    const saved = await this.repository.update(Object.assign(tool, healthyNow(status), { env }));
    if (status === 'active') await this.activate(saved);
    return saved;
  }

  /** Builds the tool's wrapper and lets the registry know it. */
  private async activate(tool: CustomTool): Promise<void> {
    if (this.registry.find(tool.name)?.definition.kind === 'builtin') {
      throw new Problem('conflict', `The name ${tool.name} belongs to a built-in tool`);
    }
    const wrapper = await this.runtimes.build(tool);
    this.runtimes.put(wrapper);
    this.registry.replace(wrapper);
    if ('unavailable' in wrapper.backend) {
      await this.repository.setCondition(tool.name, brokenBy(wrapper.backend.unavailable));
    } else if (wrapper.backend.realPath !== tool.pinnedCommand) {
      await this.repository.pin(tool.name, wrapper.backend.realPath);
    }
  }

  private deactivate(name: string): void {
    this.registry.unregister(name);
    this.runtimes.remove(name);
  }

  private checkPool({ poolSize, minProcesses, keepAlive }: CustomTool): void {
    const { maxPoolSize } = this.config.customTools;
    if (poolSize > maxPoolSize) {
      throw wrong('/poolSize', `must not be greater than ${maxPoolSize} (CUSTOM_TOOLS_MAX_POOL_SIZE)`);
    }
    if (minProcesses > poolSize)
      throw wrong('/minProcesses', `must not be greater than poolSize (${poolSize})`);
    if (minProcesses > 0 && !keepAlive) throw wrong('/minProcesses', 'needs keepAlive');
  }

  private draft(create: CustomToolCreate, id = newId(), envBefore: StoredEnv = {}): CustomTool {
    const { env = {}, ...given } = withoutUndefined(create);
    const defaults = {
      id,
      description: '',
      version: '1.0.0',
      args: [],
      workingDir: null,
      pinnedCommand: null,
      env: sealedEnv(this.box, id, env, envBefore),
      inputSchema: {},
      timeoutMs: this.config.customTools.defaultTimeoutMs,
      maxRetries: 0,
      retryDelayMs: 1_000,
      poolSize: 1,
      minProcesses: 0,
      maxConcurrency: 1,
      keepAlive: false,
      sandbox: null,
      permissions: null,
      fallback: null,
      callsPerInvestigation: null,
      tags: [],
      metadata: {},
      ...healthyNow('active'),
    };
    return {
      ...defaults,
      ...given,
      annotations: { ...carefulAnnotations, ...given.annotations },
    } as CustomTool;
  }

  private complete(draft: CustomTool, create: CustomToolCreate, handshake: Handshake): CustomTool {
    const { description = handshake.description, inputSchema = handshake.inputSchema } = create;
    const missing = 'is needed: neither the registration nor the executable gives it';
    if (!description) throw wrong('/description', missing);
    if (!inputSchema) throw wrong('/inputSchema', missing);
    this.inspector.compile(inputSchema);
    const unclean = 'must not hold NUL characters or halves of surrogate pairs';
    if (storableText(description) !== description) throw wrong('/description', unclean);
    if (storableJson(inputSchema) !== JSON.stringify(inputSchema)) throw wrong('/inputSchema', unclean);
    const version = create.version ?? handshake.version ?? draft.version;
    const maxConcurrency = create.maxConcurrency ?? handshake.maxConcurrency ?? draft.maxConcurrency;
    return { ...draft, description, inputSchema, version, maxConcurrency };
  }
}

/** As MCP's defaults: nothing is promised, everything may happen. */
const carefulAnnotations = { readOnly: false, idempotent: false, destructive: true, openWorld: true };

function brokenBy(errorMessage: string) {
  return { status: 'error', healthStatus: 'unhealthy', lastHealthCheck: new Date(), errorMessage } as const;
}

function healthyNow(status: ToolStatus) {
  return { status, healthStatus: 'healthy', lastHealthCheck: new Date(), errorMessage: null } as const;
}

function withoutUndefined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Partial<T>;
}
