import { parse } from 'secure-json-parse';
import { Problem } from '../../../base/common/errors.js';
import { DtoPipe } from '../../../web/rest/dto.pipe.js';
import { sanitisedText } from '../../../base/common/pg-text.js';
import type { Handshake, Reply } from '../../process-pool/pool.types.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import {
  type McpDefinition,
  isServerName,
  plainDefinitions,
  reviewTools,
} from '../../mcp-client/mcp-review.js';
import { initialOf } from '../entity/setting-facets.js';
import { checkedThresholds, checkRemote } from '../entity/settings-rules.js';
import { type CustomToolCreate, CustomToolUpdate, ToolSettings } from '../entity/tool-settings.js';
import { answeredNow } from '../state/tool-state.js';
import { wrong } from '../../../web/rest/wrong-field.js';
import { messageOf } from '../../../base/common/message-of.js';

/**
 * An MCP server may remember what it is told: it has one process, which is always there and serves many calls at a time,
 * unless it says otherwise. Projects do not share what it remembers.
 */
const ofServers = { keepAlive: true, minProcesses: 1, maxConcurrency: 64, isolation: 'project' };

/** A registration with every default, before its executable was asked. */
export function draftOf(
  create: CustomToolCreate,
  defaultsHere: Pick<CustomTool, 'id' | 'userNumber' | 'env' | 'timeoutMs' | 'bundle'>,
): CustomTool {
  const { env: _sealedByTheCaller, ...given } = withoutUndefined(create);
  const defaults = {
    ...initialOf(ToolSettings),
    pinnedCommand: null,
    revision: 0,
    status: 'active',
    ...answeredNow(undefined),
    ...defaultsHere,
    ...(create.protocol === 'mcp' && ofServers),
  };
  return {
    ...defaults,
    ...given,
    annotations: { ...defaults.annotations, ...given.annotations },
    sandbox: merged(null, given.sandbox),
    permissions: merged(null, given.permissions),
    thresholds: checkedThresholds(merged(null, given.thresholds)),
  } as CustomTool;
}

interface Asked {
  readonly handshake: Handshake;
  readonly health?: Reply;
  readonly realPath: string;
}

/**
 * Fills what the registration omits from the executable's own words.
 * @throws Problem `invalid_request` with the field that neither gives
 */
export async function completed(
  draft: CustomTool,
  create: CustomToolCreate,
  inspected?: Asked,
): Promise<CustomTool> {
  if (draft.protocol === 'mcp') return completedServer(draft, create, inspected);
  const given = inspected ? await definedBy(inspected.handshake, create) : {};
  const { description = given.description, inputSchema = given.inputSchema } = create;
  const missing = 'is needed: neither the registration nor the executable gives it';
  if (!description) throw wrong('/description', missing);
  if (!inputSchema) throw wrong('/inputSchema', missing);
  const pinnedCommand = inspected?.realPath ?? draft.pinnedCommand;
  const condition = inspected && answeredNow(inspected.health);
  return { ...draft, ...given, ...condition, description, inputSchema, pinnedCommand };
}

/** Approves the listed tools with the registration, except those that need a review first. */
function completedServer(draft: CustomTool, create: CustomToolCreate, inspected?: Asked): CustomTool {
  if (!inspected) return { ...draft, description: create.description || serverDescription(draft) };
  const { name, version, description, tools } = inspected.handshake;
  const given = description?.trim().slice(0, 4_096) || serverDescription(draft, name);
  return {
    ...draft,
    description: create.description || sanitisedText(given),
    version: create.version ?? sanitisedText(version?.slice(0, 64) || draft.version),
    ...answeredNow(inspected.health),
    pinnedCommand: inspected.realPath,
    definitions: definitionsOf(tools),
  };
}

const serverDescription = ({ name }: CustomTool, own = name): string => `The MCP server ${own.slice(0, 200)}`;

const definitionsOf = (tools: Handshake['tools']): McpDefinition[] =>
  plainDefinitions(reviewTools([], tools ?? []));

type HandshakeFields = Partial<
  Pick<CustomToolCreate, 'description' | 'version' | 'inputSchema' | 'maxConcurrency'>
>;

/**
 * Fills what the registration omits from the executable's answer, under the rules of a registration.
 * @throws Problem `invalid_request` with the field
 */
async function definedBy(handshake: Handshake, create: CustomToolCreate): Promise<HandshakeFields> {
  const { description, version, inputSchema, maxConcurrency } = handshake;
  // Empty text counts as absent.
  const given = {
    description: description || undefined,
    version: version || undefined,
    inputSchema,
    maxConcurrency,
  };
  const needed = Object.entries(withoutUndefined(given)).filter(
    ([field]) => !(field in withoutUndefined(create)),
  );
  try {
    return await new DtoPipe().read(CustomToolUpdate, Object.fromEntries(needed));
  } catch (error) {
    const first = error instanceof Problem ? error.details.errors?.[0] : undefined;
    if (!first) throw error;
    throw wrong(first.pointer, `as the executable gives it in initialize: ${first.detail}`);
  }
}

/** @throws Problem `invalid_request` with the field */
export function checkServer(tool: CustomTool, { inputSchema }: CustomToolUpdate): void {
  checkRemote(tool);
  const { protocol, name, keepAlive } = tool;
  if (protocol !== 'mcp') return;
  if (!isServerName(name))
    throw wrong('/name', 'must hold no "__" and not end with "_": its tools are called name__tool');
  if (!keepAlive) throw wrong('/keepAlive', 'must not be false for an MCP server');
  if (inputSchema)
    throw wrong('/inputSchema', 'must be left out: an MCP server lists the schemas of its tools itself');
}

/** @throws Problem `invalid_request` with the field */
export function checkPool(tool: CustomTool, maxPoolSize: number): void {
  const { poolSize, minProcesses, keepAlive } = tool;
  if (poolSize > maxPoolSize) {
    throw wrong('/poolSize', `must not be greater than ${maxPoolSize} (CUSTOM_TOOLS_MAX_POOL_SIZE)`);
  }
  if (minProcesses > poolSize)
    throw wrong('/minProcesses', `must not be greater than poolSize (${poolSize})`);
  if (minProcesses > 0 && !keepAlive) throw wrong('/minProcesses', 'needs keepAlive');
}

/** @throws Problem `invalid_request` */
export function checkCache({
  cacheTtlMs,
  annotations,
}: Pick<CustomTool, 'cacheTtlMs' | 'annotations'>): void {
  if (cacheTtlMs && !annotations.readOnly) throw wrong('/cacheTtlMs', 'needs annotations.readOnly');
}

/** Settings that a change names, without its environment. */
export function changedSettings(tool: CustomTool, changes: CustomToolUpdate): Partial<CustomTool> {
  const { env: _sealedByTheCaller, annotations, sandbox, permissions, thresholds, ...others } = changes;
  return {
    ...(withoutUndefined(others) as Partial<CustomTool>),
    annotations: { ...tool.annotations, ...annotations },
    sandbox: merged(tool.sandbox, sandbox),
    permissions: merged(tool.permissions, permissions),
    thresholds: merged(tool.thresholds, thresholds),
  };
}

/** A member that is an object, with changes: what they do not name stays, null takes a value, or the member, away. */
function merged<T extends object>(stored: T | null, changes: T | null | undefined): T | null {
  if (changes === undefined) return stored;
  if (changes === null) return null;
  const kept = Object.entries({ ...stored, ...changes }).filter(([, value]) => value !== null);
  return kept.length === 0 ? null : (Object.fromEntries(kept) as T);
}

function withoutUndefined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Partial<T>;
}

/**
 * The content of a tool.json. The text of a file that is no JSON stays in it: it may be a link to what nobody may read.
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
