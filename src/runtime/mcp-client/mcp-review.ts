import { sha256, canonicalJson } from '../../base/common/canonical-json.js';
import { isObject, type JsonObject, withoutNulls } from '../../base/common/json.js';
import type { JsonSchema } from '../../base/schemas/json-schema.js';
import type { Handshake } from '../process-pool/pool.types.js';

export const mcpToolStates = ['callable', 'held', 'refused', 'gone'] as const;
/**
 * `callable`: listed exactly as approved · `held`: waits for an operator's approval · `refused`: cannot be approved ·
 * `gone`: approved but no longer listed.
 */
type McpToolState = (typeof mcpToolStates)[number];

/** The comparison of one tool's approved and listed definitions. */
export interface McpReview {
  /** The server's name for the tool; shortened and escaped if it is invalid. */
  readonly name: string;
  readonly state: McpToolState;
  /** Why the tool is not callable. */
  readonly why?: string;
  /** A defect that does not prevent calls. */
  readonly warning?: string;
  readonly approved?: McpDefinition;
  readonly listed?: McpDefinition;
}

const unapproved = 'it has not been approved';

/**
 * Compares the approved definitions with those that the server lists.
 * @param listed undefined if not known yet: all approved tools are callable then
 */
export function reviewTools(
  approved: readonly McpDefinition[],
  listed: readonly Readonly<Record<string, unknown>>[] | undefined,
): McpReview[] {
  if (!listed) return approved.map((each) => ({ name: each.name, state: 'callable', approved: each }));
  const known = new Map(approved.map((each) => [each.name, each]));
  const namesByFold = new Map(approved.map(({ name }) => [foldedName(name), name]));
  const reviews = new Map<string, McpReview>();
  for (const raw of listed) {
    const read = readDefinition(raw);
    if ('wrong' in read) {
      const name = nameIn(raw);
      const before = known.get(name);
      reviews.set(name, { name, state: 'refused', why: read.wrong, ...(before && { approved: before }) });
      continue;
    }
    const { definition, warning } = read;
    const { name } = definition;
    const review = reviewOf(definition, known.get(name), namesByFold.get(foldedName(name)));
    if (reviews.has(name)) reviews.set(name, { name, state: 'refused', why: 'it is listed twice' });
    else reviews.set(name, { ...review, ...(warning !== undefined && { warning }) });
    if (!namesByFold.has(foldedName(name))) namesByFold.set(foldedName(name), name);
  }
  const why = 'the server does not list it';
  for (const each of approved)
    if (!reviews.has(each.name))
      reviews.set(each.name, { name: each.name, state: 'gone', why, approved: each });
  return [...reviews.values()];
}

/** The definitions that a registration approves automatically, because nothing in them is suspicious. */
export const plainDefinitions = (reviews: readonly McpReview[]): McpDefinition[] =>
  reviews.flatMap(({ state, why, listed }) =>
    state === 'held' && why === unapproved && listed ? [listed] : [],
  );

/** Reviews one valid definition. @param similarName an approved or listed tool's name that is easily confused with this one's */
function reviewOf(
  listed: McpDefinition,
  approved: McpDefinition | undefined,
  similarName = listed.name,
): McpReview {
  const { name } = listed;
  if (!approved) {
    const similar = similarName !== name ? `its name reads like that of ${similarName}` : undefined;
    return { name, state: 'held', why: similar ?? whyInvisible(listed) ?? unapproved, listed };
  }
  if (definitionHash(approved) === definitionHash(listed))
    return { name, state: 'callable', approved, listed };
  return { name, state: 'held', why: 'its definition changed since it was approved', approved, listed };
}

/** Invisible characters: controls, zero-width, bidirectional marks and tags, but not emoji joiners. */
const invisible = /(?![\t\n\r]|\u200c|\u200d|\ufe0e|\ufe0f)[\p{Cc}\p{DI}\ufff9-\ufffb]/u;

/** @returns a sentence naming the first invisible character in the definition's texts or member names */
function whyInvisible(definition: McpDefinition): string | undefined {
  let found: string | undefined;
  JSON.stringify(definition, (name, value: unknown) => {
    found ??= invisible.exec(name + (typeof value === 'string' ? value : ''))?.[0];
    return value;
  });
  const code = found?.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  return code && `it contains an invisible character (U+${code})`;
}

/** A text that is equal for names that are easily confused. */
const foldedName = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** The name of an invalid definition, shortened and escaped. */
function nameIn({ name }: Readonly<Record<string, unknown>>): string {
  return typeof name === 'string' ? JSON.stringify(name.slice(0, 100)).slice(1, -1) : '(no name)';
}

/** Stands between the names of a server and its tool. */
const separator = '__';
/** Max characters of a tool's name before its hash, so that both have 128. */
const maxAliasChars = 119;
const unsupportedChars = /[^A-Za-z0-9_.-]+/g;

/** The full name of a server's tool, without characters that LLM platforms reject. */
export function mcpToolName(server: string, tool: string): string {
  if (tool.search(unsupportedChars) < 0) return `${server}${separator}${tool}`;
  const alias = tool.replace(unsupportedChars, '_').slice(0, maxAliasChars);
  return `${server}${separator}${alias}_${sha256(tool).slice(0, 8)}`;
}

/** @returns the server in a full tool name; undefined if the name cannot belong to a server */
export function serverOf(name: string): string | undefined {
  const at = name.indexOf(separator);
  return at > 0 ? name.slice(0, at) : undefined;
}

/** Whether the server's name can be parsed unambiguously from the full names of its tools. */
export const isServerName = (name: string): boolean => !name.includes(separator) && !name.endsWith('_');

/** Prefix of the names under which prompts are reviewed like tools; no tool has such a name. */
const promptPrefix = 'prompts/';
/** The name under which a server's instructions are reviewed like a tool. */
export const instructionsName = 'server/instructions';

/** The name under which a server's prompt is reviewed. */
export const promptName = (prompt: string): string => `${promptPrefix}${prompt}`;

/** Whether a reviewed name is a tool's, not that of a prompt or the instructions. */
export const isToolName = (name: string): boolean =>
  name !== instructionsName && !name.startsWith(promptPrefix);

/** The name for callers of a reviewed tool, prompt or instructions. */
export const calledName = (server: string, name: string): string =>
  name === instructionsName
    ? server
    : mcpToolName(server, isToolName(name) ? name : name.slice(promptPrefix.length));

/** Definitions as a server lists them. */
type Definitions = readonly JsonObject[];

/** The definitions that a model reads before a call: a server's tools, prompts and instructions. */
export function reviewedIn({ tools = [], prompts = [], description }: Handshake): Definitions {
  const promptDefinitions = prompts.map(({ name, title, description: text, arguments: given }) => ({
    name: promptName(String(name)),
    title,
    description: text,
    inputSchema: { arguments: given },
  }));
  const instructions = description?.trim() ? [{ name: instructionsName, description, inputSchema: {} }] : [];
  return [...tools, ...promptDefinitions, ...instructions];
}

/** The listed definitions, plus those that were listed to other callers before. */
function withOthers(listed: Definitions, before: Definitions = []): Definitions {
  const names = new Set(listed.map(({ name }) => name));
  return [...listed, ...before.filter(({ name }) => !names.has(name))];
}

/** The current lists of one server's processes. */
export class McpListing {
  /** Definitions to review, as last listed; absent until a process has started. */
  tools: Definitions | undefined;
  /** SHA-256 of `tools`; absent until there are any. */
  hash: string | undefined;
  /** Lists by pool, because resources may belong to one project. */
  private readonly byPool = new WeakMap<object, { readonly handshake: Handshake; readonly hash: string }>();

  /** @param first handshake of a process that has just ended, for pools without a process of their own yet */
  constructor(
    private readonly first?: Handshake,
    /** Whether callers may get different tools, so that a tool missing in a list is not gone. */
    readonly isPersonal = false,
  ) {
    if (first) this.take(first, this);
  }

  /** The handshake for a pool; absent until a process has started. @param pool undefined if the project has none yet */
  of(pool: object | undefined): Handshake | undefined {
    return (pool && this.byPool.get(pool)?.handshake) ?? this.first;
  }

  /** Stores the lists of a pool. @returns whether anything changed */
  take(handshake: Handshake, pool: object): boolean {
    const { resources, resourceTemplates, prompts, offers } = handshake;
    this.tools = this.isPersonal ? withOthers(reviewedIn(handshake), this.tools) : reviewedIn(handshake);
    const toolsHash = sha256(canonicalJson(this.tools));
    const hash = sha256(canonicalJson({ toolsHash, resources, resourceTemplates, prompts, offers }));
    const isSame = toolsHash === this.hash && hash === this.byPool.get(pool)?.hash;
    this.hash = toolsHash;
    this.byPool.set(pool, { handshake, hash });
    return !isSame;
  }
}

interface McpAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** A tool as an MCP server lists it, reduced to the members that affect callers. */
export interface McpDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: McpAnnotations;
}

/** Printable ASCII only, because letters of other alphabets can look the same. */
const namePattern = /^[ -~]{1,128}$/;
/** Max characters of a title or description. */
const maxTextChars = 16_384;
/** The caps of a registered tool's schema (docs/tools/protocol.md). */
const maxSchemaBytes = 65_536;
/** Annotations that are kept. */
const hints = ['readOnlyHint', 'idempotentHint', 'destructiveHint', 'openWorldHint'] as const;

/** Beginning of a warning about an output schema that clients do not get. */
export const unlistedOutput = 'it is listed without its outputSchema';

/** A valid definition, or a sentence that says why it is invalid. */
type ReadDefinition =
  { readonly definition: McpDefinition; readonly warning?: string } | { readonly wrong: string };

/** Reads a definition. @param listed as the server sent it, with limited nesting */
function readDefinition(listed: JsonObject): ReadDefinition {
  const { name, title, description, inputSchema, outputSchema, annotations } = comparable(listed);
  if (typeof name !== 'string' || !namePattern.test(name))
    return { wrong: 'its name is not 1 to 128 letters, digits and signs of ASCII' };
  for (const [member, value] of Object.entries({ title, description })) {
    if (value !== undefined && typeof value !== 'string') return { wrong: `its ${member} is no text` };
    if (value !== undefined && value.length > maxTextChars)
      return { wrong: `its ${member} has ${value.length} characters, the cap is ${maxTextChars}` };
  }
  if (!isSchema(inputSchema)) {
    // A text in its place is the reason why clients must not use it.
    const found = typeof inputSchema === 'string' ? inputSchema : 'no schema of an object';
    return { wrong: `its inputSchema is ${found}` };
  }
  const bytes = Buffer.byteLength(JSON.stringify(inputSchema));
  if (bytes > maxSchemaBytes)
    return { wrong: `its inputSchema is ${bytes} bytes, the cap is ${maxSchemaBytes}` };
  const definition = {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema,
    ...(isObject(outputSchema) && { outputSchema }),
    ...(isObject(annotations) && { annotations: annotationsIn(annotations) }),
  } as McpDefinition;
  if (!isStorable(definition)) return { wrong: 'it contains a NUL or an unpaired surrogate' };
  if (outputSchema === undefined || isObject(outputSchema)) return { definition };
  const why = typeof outputSchema === 'string' ? outputSchema.slice(0, 100) : 'no schema';
  return { definition, warning: `${unlistedOutput}: its outputSchema is ${why}` };
}

/** SHA-256 of the canonical JSON. Nulls are dropped because stored definitions may contain them. */
const definitionHash = (definition: McpDefinition): string => sha256(canonicalJson(comparable(definition)));

/** Drops null members, except under JSON Schema keywords for which null is a value. */
const comparable = <T extends object>(listed: T): T =>
  withoutNulls(listed, ['default', 'const', 'enum', 'examples']) as T;

function annotationsIn(listed: Readonly<Record<string, unknown>>): McpAnnotations {
  const given = hints.flatMap((hint) => (typeof listed[hint] === 'boolean' ? [[hint, listed[hint]]] : []));
  const { title } = listed;
  return { ...(Object.fromEntries(given) as McpAnnotations), ...(typeof title === 'string' && { title }) };
}

/** PostgreSQL accepts neither NUL nor unpaired surrogates, which JSON.stringify writes as escapes. */
const isStorable = (value: unknown): boolean =>
  !/(^|[^\\])(\\\\)*\\u(0000|d[89a-f][0-9a-f]{2})/i.test(JSON.stringify(value));

const isSchema = (value: unknown): value is JsonSchema =>
  isObject(value) && /^\[?"(object|dict|map)"/i.test(JSON.stringify(value['type'] ?? 'object'));
