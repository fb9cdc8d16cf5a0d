import { Inject, Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { Problem } from '../../../base/common/errors.js';
import { newId } from '../../../base/common/ids.js';
import { DtoPipe } from '../../../web/rest/dto.pipe.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import type { Handshake } from '../../process-pool/pool.types.js';
import type { EffectiveSandbox } from '../../sandbox/sandbox.types.js';
import type { Tool } from '../../../web/contract/tool.js';
import type { ToolOutcome } from '../../../web/contract/tool-outcome.js';
import { Bundles, type Upload } from '../bundles/bundles.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { CustomToolsRepository } from '../state/custom-tools.repository.js';
import { shownUrl, changedEnv, sealedEnv, EnvCipher } from '../../secrets/env-cipher.js';
import { checkedThresholds } from '../entity/settings-rules.js';
import { CustomToolCreate, type CustomToolUpdate } from '../entity/tool-settings.js';
import { wrong } from '../../../web/rest/wrong-field.js';
import {
  differences,
  type Inspection,
  type Listen,
  type PreparedTool,
  ToolInspector,
} from '../launch/tool-inspector.js';
import { PoolOutput } from '../logs/pool-output.js';
import type { LogBook } from '../logs/tool-logs.js';
import type { CustomToolWrapper } from '../running/custom-tool-wrapper.js';
import { RunningTools } from '../running/running-tools.js';
import {
  manifestIn,
  changedSettings,
  checkCache,
  checkPool,
  checkServer,
  completed,
  draftOf,
} from './tool-registration.js';

/** A registration, or a change of the tool that is named; with the files that it brings along. */
export type Request =
  | { readonly create: CustomToolCreate; readonly bundle?: string }
  | { readonly name: string; readonly changes: CustomToolUpdate; readonly bundle?: string };

/** A tool whose executable has answered, with its handshake. */
interface AnsweredTool {
  readonly prepared: PreparedTool;
  readonly inspected: Inspection;
}

/** A call that belongs to a dry run. */
export interface TrialCall {
  /** The full name of one of an MCP server's tools. */
  readonly tool: string | undefined;
  run(tool: Tool): Promise<ToolOutcome>;
}

/** The tool that a registration, or a change, would make, and how it does. */
export interface Trial {
  readonly tool: CustomTool;
  readonly handshake: Handshake;
  readonly differences: readonly string[];
  readonly effectiveSandbox: EffectiveSandbox;
  /** Null if no call was asked for. */
  readonly outcome: ToolOutcome | null;
}

/** Tools as a registration, or a change, would make them: every rule is applied, and nothing is stored. */
@Injectable()
export class Registrations {
  private readonly dtos = new DtoPipe();

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'customTools'>,
    private readonly repository: CustomToolsRepository,
    private readonly inspector: ToolInspector,
    private readonly running: RunningTools,
    private readonly bundles: Bundles,
    private readonly box: EnvCipher,
  ) {}

  /**
   * A registration with every default, before its executable was asked.
   * @param stored the tool whose place it takes
   * @param bundle the files that it brought along
   * @throws Problem `invalid_request` with the field
   */
  async draft(
    create: CustomToolCreate,
    stored?: CustomTool,
    bundle: string | null = null,
  ): Promise<CustomTool> {
    const { id = newId(), userNumber = await this.repository.newUserNumber(), env: was = {} } = stored ?? {};
    const { defaultTimeoutMs, maxPoolSize } = this.config.customTools;
    const env = sealedEnv(this.box, id, create.env ?? {}, was);
    const draft = draftOf(create, { id, userNumber, env, bundle, timeoutMs: defaultTimeoutMs });
    checkServer(draft, create);
    checkPool(draft, maxPoolSize);
    checkCache(draft);
    if (!stored) return draft;
    const { revision, status, isolation } = stored;
    return Object.assign(draft, { revision, status, isolation: create.isolation ?? isolation });
  }

  /**
   * Creates a tool after starting its executable, whose handshake supplies what the registration omits.
   * @throws Problem `invalid_request` with the field, `tool_unavailable`
   */
  async answered(create: CustomToolCreate, bundle?: string, listen?: Listen): Promise<AnsweredTool> {
    const draft = await this.draft(create, undefined, bundle);
    const inspected = await this.inspector.inspect(draft, listen);
    return {
      inspected,
      prepared: await this.inspector.prepare(await completed(draft, create, inspected), inspected),
    };
  }

  /** Writes changes into a tool, the files that it brings along now among them. @throws Problem `invalid_request` with the field */
  apply(tool: CustomTool, given: CustomToolUpdate, bundle?: string): void {
    const changes = changesOf(tool, given);
    const env = changedEnv(this.box, tool.id, tool.env, changes.env ?? {});
    Object.assign(tool, changedSettings(tool, changes), { env }, bundle && { bundle, workingDir: null });
    checkServer(tool, changes);
    // A command that is named means what it leads to now.
    if (changes.command !== undefined) tool.pinnedCommand = null;
  }

  /**
   * Asks the executable of a changed tool.
   * @throws Problem `invalid_request` with the field, `tool_unavailable`
   */
  async answeredAgain(tool: CustomTool, listen?: Listen): Promise<Inspection> {
    tool.thresholds = checkedThresholds(tool.thresholds);
    checkPool(tool, this.config.customTools.maxPoolSize);
    checkCache(tool);
    const inspected = await this.inspector.inspect(tool, listen);
    tool.pinnedCommand = inspected.realPath;
    return inspected;
  }

  /**
   * Keeps the files of a bundle, and reads what they make: a tool, or a change of the one that has the name. Members
   * that its tool.json does not name stay as they are, variables that were set meanwhile included.
   * @param wants absent: whichever it is
   * @throws Problem `conflict` if the name of a new tool is taken, `not_found`, and what is wrong with the bundle
   */
  async bundled(name: string, upload: Upload, wants?: 'create' | 'change'): Promise<Request> {
    const tool = wants === 'change' ? await this.repository.get(name) : await this.repository.find(name);
    if (tool && wants === 'create') throw new Problem('conflict', `The tool name ${name} is taken`);
    const { hash: bundle, manifest } = await this.bundles.take(upload);
    const create = await this.dtos.read(CustomToolCreate, { name, ...withoutOwnPlace(manifestIn(manifest)) });
    if (create.name !== name) throw wrong('/name', `in tool.json is ${create.name}, and ${name} in the path`);
    if (!tool) return { create, bundle };
    const { name: _stays, protocol = 'jsonrpc', ...changes } = create;
    if (protocol !== tool.protocol)
      throw wrong('/protocol', `stays ${tool.protocol}: unregister the tool to change it`);
    return { name, changes, bundle };
  }

  /**
   * A registration, or a change, that is not stored.
   * @param book gets what its processes write
   * @throws Problem what the registration would be refused with; Refusal if the call was not run
   */
  async dryRun(request: Request, book: LogBook, call?: TrialCall): Promise<Trial> {
    const { prepared, inspected } = await this.answer(request, into(book));
    const { tool } = prepared;
    const { handshake } = inspected;
    const wrapper = await this.running.build(prepared, tool.revision, { book });
    try {
      const outcome = call ? await call.run(offeredAs(call.tool ?? tool.name, wrapper)) : null;
      const effectiveSandbox = this.running.effective(tool, wrapper);
      return { tool, handshake, differences: differences(tool, handshake), effectiveSandbox, outcome };
    } finally {
      await this.end(wrapper, call?.tool);
    }
  }

  private async answer(request: Request, listen: Listen): Promise<AnsweredTool> {
    if ('create' in request) return this.answered(request.create, request.bundle, listen);
    const tool = await this.repository.get(request.name);
    this.apply(tool, request.changes, request.bundle);
    const inspected = await this.answeredAgain(tool, listen);
    return { inspected, prepared: await this.inspector.prepare(tool, inspected) };
  }

  /** Nothing is left of a dry run; of a tool that does not exist no figures either. */
  private async end(wrapper: CustomToolWrapper, called?: string): Promise<void> {
    const { name } = wrapper.tool;
    await this.running.retire(wrapper);
    if (this.running.get(name) || (await this.repository.find(name))) return;
    for (const each of new Set([name, called ?? name])) this.running.deletions.emit(each);
  }
}

/** @throws Problem `not_found` */
export function offeredAs(name: string, wrapper: CustomToolWrapper): Tool {
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

const into =
  (book: LogBook): Listen =>
  (redactor) => {
    const output = new PoolOutput(book, redactor);
    return (news) => output.on(news);
  };

/** A request without what it sends back as it was shown. A command that is named is looked up anew in any case. */
function changesOf(tool: CustomTool, given: CustomToolUpdate): CustomToolUpdate {
  const shown: Readonly<Record<string, unknown>> = { ...tool, url: tool.url && shownUrl(tool.url) };
  const isChange = (name: string, value: unknown): boolean =>
    name === 'command' || !isDeepStrictEqual(value, shown[name]);
  return Object.fromEntries(Object.entries(given).filter(([name, value]) => isChange(name, value)));
}

/** The folder of the bundle, as a tool.json may name it. */
function withoutOwnPlace({ workingDir, ...manifest }: { readonly workingDir?: unknown }): object {
  return workingDir === '.' || workingDir === './/'
    ? manifest
    : { ...manifest, ...(workingDir !== undefined && { workingDir }) };
}
