import { definitionHash, type McpDefinition, readDefinition } from './mcp-definition.js';
import { sha256, canonicalJson } from '../../common/canonical-json.js';

export const mcpToolStates = ['callable', 'held', 'refused', 'gone'] as const;
/**
 * `callable`: listed as it was approved · `held`: not so, until an operator approves it · `refused`: it cannot be
 * approved · `gone`: approved and not listed any more.
 */
export type McpToolState = (typeof mcpToolStates)[number];

/** One tool of a server: what was approved, what is listed, and what follows. */
export interface McpReview {
  /** As the server calls it; shortened where that is no name. */
  readonly name: string;
  readonly state: McpToolState;
  /** Why it is not callable. */
  readonly why?: string;
  /** A fault of the tool, which can be called all the same. */
  readonly warning?: string;
  readonly approved?: McpDefinition;
  readonly listed?: McpDefinition;
}

/**
 * Compares what was approved with what the server lists.
 * @param listed undefined: not known yet; then what was approved holds
 */
export function reviewTools(
  approved: readonly McpDefinition[],
  listed: readonly Readonly<Record<string, unknown>>[] | undefined,
): McpReview[] {
  if (!listed) return approved.map((each) => ({ name: each.name, state: 'callable', approved: each }));
  const known = new Map(approved.map((each) => [each.name, each]));
  const likeness = new Map(approved.map(({ name }) => [folded(name), name]));
  const reviews = new Map<string, McpReview>();
  for (const raw of listed) {
    const read = readDefinition(raw);
    if ('wrong' in read) {
      const name = nameIn(raw);
      const before = known.get(name);
      reviews.set(name, { name, state: 'refused', why: read.wrong, ...(before && { approved: before }) });
      continue;
    }
    const { definition } = read;
    const { name } = definition;
    if (reviews.has(name)) reviews.set(name, { name, state: 'refused', why: 'it is listed twice' });
    else reviews.set(name, reviewOf(definition, known.get(name), likeness.get(folded(name))));
    if (!likeness.has(folded(name))) likeness.set(folded(name), name);
  }
  for (const each of approved) {
    if (!reviews.has(each.name))
      reviews.set(each.name, {
        name: each.name,
        state: 'gone',
        why: 'the server does not list it',
        approved: each,
      });
  }
  return [...reviews.values()];
}

/** The definitions that need nobody's look: what a registration approves. */
export const plainDefinitions = (reviews: readonly McpReview[]): McpDefinition[] =>
  reviews.flatMap(({ state, why, listed }) =>
    state === 'held' && why === unapproved && listed ? [listed] : [],
  );

const unapproved = 'it has not been approved';

function reviewOf(listed: McpDefinition, approved: McpDefinition | undefined, like = listed.name): McpReview {
  const { name } = listed;
  if (approved) {
    const isSame = definitionHash(approved) === definitionHash(listed);
    return isSame
      ? { name, state: 'callable', approved, listed }
      : { name, state: 'held', why: 'its definition changed since it was approved', approved, listed };
  }
  const why = like === name ? (hiddenIn(listed) ?? unapproved) : `its name reads like that of ${like}`;
  return { name, state: 'held', why, listed };
}

/** Characters that show on no screen: controls, zero widths, marks of direction, tags; not what joins emoji. */
const hidden = /(?![\t\n\r]|\u200c|\u200d|\ufe0e|\ufe0f)[\p{Cc}\p{DI}\ufff9-\ufffb]/u;

/** Looks for a character that a reader does not see, in the texts of a definition and the names in its schemas. */
function hiddenIn(definition: McpDefinition): string | undefined {
  let found: string | undefined;
  JSON.stringify(definition, (name, value: unknown) => {
    found ??= hidden.exec(name + (typeof value === 'string' ? value : ''))?.[0];
    return value;
  });
  const code = found?.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  return code && `it holds a character that nobody sees (U+${code})`;
}

/** Names that a reader takes for each other. */
const folded = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

function nameIn({ name }: Readonly<Record<string, unknown>>): string {
  return typeof name === 'string' ? JSON.stringify(name.slice(0, 100)).slice(1, -1) : '(no name)';
}

const between = '__';
const refused = /[^A-Za-z0-9_.-]+/g;

/** The name by which a server's tool is called; it holds nothing that platforms refuse. */
export function mcpToolName(server: string, tool: string): string {
  const alias = tool.replace(refused, '_').slice(0, 119);
  return `${server}${between}${tool.search(refused) < 0 ? tool : `${alias}_${sha256(tool).slice(0, 8)}`}`;
}

/** @returns the server of a tool with this name; undefined where it can be none of a server's */
export function serverOf(name: string): string | undefined {
  const at = name.indexOf(between);
  return at > 0 ? name.slice(0, at) : undefined;
}

/** Whether the names of a server's tools say without doubt whose they are. */
export const isServerName = (name: string): boolean => !name.includes(between) && !name.endsWith('_');

type Tools = readonly Readonly<Record<string, unknown>>[];

/** The tools that the processes of one server list now. */
export class McpListing {
  /** As they are listed; absent until a process has started. */
  tools: Tools | undefined;
  /** SHA-256 of the list; absent until there is one. */
  hash: string | undefined;

  /** @param tools what a process that has ended listed just now */
  constructor(tools?: Tools) {
    if (tools) this.take(tools);
  }

  /** @returns whether it is another list than before */
  take(tools: Tools): boolean {
    const hash = sha256(canonicalJson(tools));
    if (hash === this.hash) return false;
    this.tools = tools;
    this.hash = hash;
    return true;
  }
}
