import { Inject, Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { newId } from '../../common/ids.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { checkExecutable } from '../commands/resolve-command.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { CustomToolsRepository } from '../entity/custom-tools.repository.js';
import { shownUrl } from '../entity/stored-env.js';
import { checkedThresholds } from '../entity/threshold-settings.js';
import { type Inspection, type Listen, type PreparedTool, ToolInspector } from '../launch/tool-inspector.js';
import { changedEnv, sealedEnv } from '../secrets/env-changes.js';
import { SecretBox } from '../secrets/secret-box.js';
import type { CustomToolCreate, CustomToolUpdate } from './custom-tools.shapes.js';
import {
  changedSettings,
  checkCache,
  checkPool,
  checkServer,
  completed,
  draftOf,
} from './tool-registration.js';

/** A tool whose executable has answered, and what it said. */
export interface AnsweredTool {
  readonly prepared: PreparedTool;
  readonly inspected: Inspection;
}

export interface HowAsked {
  readonly listen?: Listen | undefined;
  /** The files that it brought along. */
  readonly bundle?: string | undefined;
}

/** Tools as a registration, or a change, would make them: every rule is applied, and nothing is stored. */
@Injectable()
export class ToolDrafts {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'customTools'>,
    private readonly repository: CustomToolsRepository,
    private readonly inspector: ToolInspector,
    private readonly box: SecretBox,
  ) {}

  /**
   * A registration with every default, before its executable was asked.
   * @param stored the tool whose place it takes
   * @param bundle the files that it brought along
   * @throws Problem `invalid_request` with the field
   */
  async of(create: CustomToolCreate, stored?: CustomTool, bundle: string | null = null): Promise<CustomTool> {
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
   * The same once its executable was started and has said what the registration omits.
   * @throws Problem `invalid_request` with the field, `tool_unavailable`
   */
  async answered(create: CustomToolCreate, { listen, bundle }: HowAsked = {}): Promise<AnsweredTool> {
    const draft = await this.of(create, undefined, bundle);
    if (create.inputSchema) await this.inspector.compile(create.inputSchema);
    const inspected = await this.inspector.inspect(draft, listen);
    return { inspected, prepared: await this.prepare(await completed(draft, create, inspected), inspected) };
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
    await this.inspector.compile(tool.inputSchema);
    const inspected = await this.inspector.inspect(tool, listen);
    tool.pinnedCommand = inspected.realPath;
    return inspected;
  }

  /**
   * Prepares a tool whose executable has just answered: it is started as it was for that.
   * @throws Problem `invalid_request` when it cannot be executed any more
   */
  async prepare(tool: CustomTool, inspected: Inspection): Promise<PreparedTool> {
    if (!inspected.remote) await checkExecutable(inspected.spec.command);
    return { ...(await this.inspector.prepare(tool, inspected)), listed: inspected.handshake.tools };
  }
}

/** A request without what it sends back as it was shown. A command that is named is looked up anew in any case. */
function changesOf(tool: CustomTool, given: CustomToolUpdate): CustomToolUpdate {
  const shown: Readonly<Record<string, unknown>> = { ...tool, url: tool.url && shownUrl(tool.url) };
  const isChange = (name: string, value: unknown): boolean =>
    name === 'command' || !isDeepStrictEqual(value, shown[name]);
  return Object.fromEntries(Object.entries(given).filter(([name, value]) => isChange(name, value)));
}
