import { Inject, Injectable } from '@nestjs/common';
import { parse } from 'secure-json-parse';
import { isDeepStrictEqual } from 'node:util';
import { Problem } from '../../../base/common/errors.js';
import { newId } from '../../../base/common/ids.js';
import { messageOf } from '../../../base/common/message-of.js';
import { sanitisedText } from '../../../base/common/pg-text.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { DtoPipe } from '../../../web/rest/dto.pipe.js';
import { wrong } from '../../../web/rest/wrong-field.js';
import { changedEnv, EnvCipher, sealedEnv, shownUrl } from '../../secrets/env-cipher.js';
import { plainDefinitions, reviewedIn, reviewTools } from '../../mcp-client/mcp-review.js';
import type { Handshake } from '../../process-pool/pool.types.js';
import { Bundles, type Upload } from '../bundles/bundles.js';
import { type CustomTool } from '../entity/custom-tool.entity.js';
import { CustomToolCreate, CustomToolUpdate } from '../entity/tool-settings.js';
import { CustomToolsRepository } from '../state/custom-tools.repository.js';
import { columnsAfterAnswer, columnsOfBroken } from '../state/tool-state.js';
import { ToolRevisionsRepository } from '../entity/tool-revisions.repository.js';
import { differingFiles, isConfiguredAs, restoreRevision } from '../entity/revision-content.js';
import { changedSettings, checkSettings, initialTool } from '../entity/settings-rules.js';
import {
  type Inspection,
  type MakeListener,
  ToolInspector,
  type ToolPlan,
} from '../launch/tool-inspector.js';

/** Checks registrations by their rules. */
const dtos = new DtoPipe();

interface NewTool {
  readonly create: CustomToolCreate;
  /** Hash of the bundle with its files. */
  readonly bundle?: string | undefined;
  /** Whether it replaces the tool of its name; omitted members other than `isolation` get their defaults. */
  readonly replaces?: boolean;
  /** Why its executable is not started: it is stored with status `error` and retried. */
  readonly broken?: string;
}

/** A change of a registered tool; without changes its executable is started again. */
interface ToolChange {
  readonly name: string;
  readonly changes?: CustomToolUpdate;
  readonly bundle?: string | undefined;
  readonly revision?: number;
  /** Makes any other change to the tool. */
  readonly edit?: (tool: CustomTool) => void;
  /** Whether an inactive tool becomes active. */
  readonly enables?: boolean;
}

export type ToolRequest = NewTool | ToolChange;

/** Plans a request: applies all rules and starts the executable once, but stores nothing. */
@Injectable()
export class ToolPlanner {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'customTools'>,
    private readonly repository: CustomToolsRepository,
    private readonly revisions: ToolRevisionsRepository,
    private readonly inspector: ToolInspector,
    private readonly bundles: Bundles,
    private readonly cipher: EnvCipher,
  ) {}

  /**
   * Plans a request. Starts the executable once, unless the request says that it is broken.
   * @param makeListener its listener receives the output of the executable meanwhile
   * @throws Problem `invalid_request` with the field, `tool_unavailable`, `not_found`, `conflict`
   */
  async plan(request: ToolRequest, makeListener?: MakeListener): Promise<ToolPlan> {
    if (!('create' in request)) return this.planChange(request, makeListener);
    const { create, replaces, broken } = request;
    const stored = replaces ? await this.repository.get(create.name) : undefined;
    const wanted = await this.newTool(request, stored);
    if (broken !== undefined) {
      const tool = Object.assign(await withHandshake(wanted, create), columnsOfBroken(broken));
      return this.inspector.prepare(tool);
    }
    const inspection = await this.inspector.inspect(wanted, makeListener);
    const tool = await withHandshake(wanted, create, inspection.handshake);
    return this.planAnswered(tool, inspection, stored && { readAs: stored.status });
  }

  /**
   * Stores the files of a bundle and makes its request: a new tool, or a change of the existing one. Members that its
   * tool.json does not name stay as they are, including variables.
   * @param wants absent if both are allowed
   * @throws Problem `conflict` if the name of a new tool is taken, `not_found`, or the problem of the bundle
   */
  async requestWithBundle(name: string, upload: Upload, wants?: 'create' | 'change'): Promise<ToolRequest> {
    const tool = wants === 'change' ? await this.repository.get(name) : await this.repository.find(name);
    if (tool && wants === 'create') throw new Problem('conflict', `The tool name ${name} is taken`);
    const { hash: bundle, manifest } = await this.bundles.accept(upload);
    const create = await dtos.read(CustomToolCreate, {
      name,
      ...withoutOwnFolder(manifestIn(manifest)),
    });
    if (create.name !== name) throw wrong('/name', `in tool.json is ${create.name}, and ${name} in the path`);
    if (!tool) return { create, bundle };
    const { name: _stays, protocol = 'jsonrpc', ...changes } = create;
    if (protocol !== tool.protocol)
      throw wrong('/protocol', `stays ${tool.protocol}: unregister the tool to change it`);
    return { name, changes, bundle };
  }

  /** Plans a change: of a tool's settings, or of its present files. */
  private async planChange(request: ToolChange, makeListener?: MakeListener): Promise<ToolPlan> {
    const tool = await this.repository.get(request.name);
    const { status: readAs } = tool;
    await this.apply(tool, request);
    const inspection = await this.inspector.inspect(tool, makeListener);
    return this.planAnswered(tool, inspection, { readAs, enables: request.enables });
  }

  /**
   * Plans a tool whose executable has answered, which ends status `error`; `inactive` stays unless it is enabled.
   * @param stored the status of its row, and whether an inactive tool becomes active; absent for a new tool
   */
  private planAnswered(
    tool: CustomTool,
    inspection: Inspection,
    stored?: { readonly readAs: CustomTool['status']; readonly enables?: boolean | undefined },
  ): Promise<ToolPlan> {
    const isActive = stored?.readAs !== 'inactive' || stored.enables;
    const status = isActive ? 'active' : 'inactive';
    // The key may have changed since the row was read: values are never stored under an old key.
    const env = this.cipher.renew(tool.id, tool.env);
    const pinnedCommand = inspection.realPath;
    Object.assign(tool, columnsAfterAnswer(inspection.health), { status, env, pinnedCommand });
    return this.inspector.prepare(tool, inspection, stored?.readAs);
  }

  /** A new tool, or with `stored` its replacement, before its executable was started. */
  private async newTool({ create, bundle }: NewTool, stored?: CustomTool): Promise<CustomTool> {
    const { id = newId(), env: storedEnv = {} } = stored ?? {};
    const userNumber = stored?.userNumber ?? (await this.repository.newUserNumber());
    const { defaultTimeoutMs: timeoutMs, maxPoolSize } = this.config.customTools;
    const env = sealedEnv(this.cipher, id, create.env ?? {}, storedEnv);
    const tool = initialTool(create, { id, userNumber, env, timeoutMs, bundle: bundle ?? null });
    checkSettings(tool, maxPoolSize, create);
    if (!stored) return tool;
    // Older versions made shared tools only: an import of a tool.json without `isolation` keeps them so.
    const { revision, isolation } = stored;
    return Object.assign(tool, { revision, isolation: create.isolation ?? isolation });
  }

  /** Applies a change to a tool. @throws Problem `invalid_request` with the field */
  private async apply(tool: CustomTool, { changes, bundle, revision, edit }: ToolChange): Promise<void> {
    if (!changes && !edit && revision === undefined) return;
    const given = changesOf(tool, changes ?? {});
    const env = changedEnv(this.cipher, tool.id, tool.env, given.env ?? {});
    Object.assign(tool, changedSettings(tool, given), { env }, bundle && { bundle, workingDir: null });
    // A given command is resolved anew.
    if (given.command !== undefined) tool.pinnedCommand = null;
    if (revision !== undefined) await this.rollBack(tool, revision);
    edit?.(tool);
    checkSettings(tool, this.config.customTools.maxPoolSize, given);
  }

  /**
   * Restores the configuration of a revision.
   * @throws Problem `conflict` if only files differ, because their content is not stored
   */
  private async rollBack(tool: CustomTool, revision: number): Promise<void> {
    const wanted = await this.revisions.get(tool, revision);
    if (isConfiguredAs(tool, wanted)) {
      const { content } = await this.inspector.contentOf(tool);
      const files = differingFiles(content.files, wanted.files);
      if (files.length > 0)
        throw new Problem(
          'conflict',
          `Revision ${revision} has the present configuration and differs only in files, whose content is not stored: ` +
            `restore ${files.join(', ')}`,
        );
    }
    restoreRevision(tool, wanted);
  }
}

/** A request without members that equal the values in answers. A given command is always kept. */
function changesOf(tool: CustomTool, given: CustomToolUpdate): CustomToolUpdate {
  const shown: Readonly<Record<string, unknown>> = { ...tool, url: tool.url && shownUrl(tool.url) };
  const isChange = (name: string, value: unknown): boolean =>
    name === 'command' || !isDeepStrictEqual(value, shown[name]);
  return Object.fromEntries(Object.entries(given).filter(([name, value]) => isChange(name, value)));
}

/** A tool.json without a `workingDir` that names the bundle's own folder, in which the tool runs anyway. */
function withoutOwnFolder({ workingDir, ...manifest }: { readonly workingDir?: unknown }): object {
  if (typeof workingDir === 'string' && /^\.\/*$/.test(workingDir)) return manifest;
  return workingDir === undefined ? manifest : { ...manifest, workingDir };
}

/**
 * Fills omitted members of a registration from the executable's answer.
 * @param handshake absent if the executable was not started
 * @throws Problem `invalid_request` with the field that neither gives
 */
async function withHandshake(
  tool: CustomTool,
  create: CustomToolCreate,
  handshake?: Handshake,
): Promise<CustomTool> {
  if (tool.protocol === 'mcp') return withListing(tool, create, handshake);
  const given = handshake ? await omittedMembers(handshake, create) : {};
  const { description = given.description, inputSchema = given.inputSchema } = create;
  const missing = 'is needed: neither the registration nor the executable gives it';
  if (!description) throw wrong('/description', missing);
  if (!inputSchema) throw wrong('/inputSchema', missing);
  return { ...tool, ...given, description, inputSchema };
}

/** Max length of a description, as in a registration. */
const maxDescription = 4_096;

/** Approves the listed tools with the registration, except those that need a review first. */
function withListing(tool: CustomTool, create: CustomToolCreate, handshake?: Handshake): CustomTool {
  const { name = tool.name, version, description } = handshake ?? {};
  const ownDescription =
    description?.trim().slice(0, maxDescription) || `The MCP server ${name.slice(0, 200)}`;
  return {
    ...tool,
    description: create.description || sanitisedText(ownDescription),
    version: create.version ?? sanitisedText(version?.slice(0, 64) || tool.version),
    definitions: handshake ? plainDefinitions(reviewTools([], reviewedIn(handshake))) : tool.definitions,
  };
}

/** Members of a registration that an executable may answer. */
type HandshakeFields = Partial<
  Pick<CustomToolCreate, 'description' | 'version' | 'inputSchema' | 'maxConcurrency'>
>;

/**
 * Members of the executable's answer that the registration omits, checked by the rules of a registration.
 * @throws Problem `invalid_request` with the field
 */
async function omittedMembers(handshake: Handshake, create: CustomToolCreate): Promise<HandshakeFields> {
  const { description, version, inputSchema, maxConcurrency } = handshake;
  // Empty text counts as absent.
  const given = {
    description: description || undefined,
    version: version || undefined,
    inputSchema,
    maxConcurrency,
  };
  const omitted: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(given))
    if (value !== undefined && !(field in create)) omitted[field] = value;
  try {
    return await dtos.read(CustomToolUpdate, omitted);
  } catch (error) {
    const first = error instanceof Problem ? error.details.errors?.[0] : undefined;
    if (!first) throw error;
    throw wrong(first.pointer, `as the executable gives it in initialize: ${first.detail}`);
  }
}

/**
 * Parses a tool.json. Messages never quote the file, because it may be a link to a confidential one.
 * @throws Problem `invalid_request`
 */
export function manifestIn(content: string): object {
  try {
    return parse(content) as object;
  } catch (error) {
    const message = messageOf(error);
    if (message.includes('prototype')) throw new Problem('invalid_request', 'it has a member __proto__');
    const where = / at position \d+ \(line \d+ column \d+\)/.exec(message)?.[0] ?? '';
    throw new Problem('invalid_request', `it is no JSON${where}`);
  }
}
