import { isDeeperThan, jsonExcerpt } from '../../base/common/json-depth.js';
import { isObject, type JsonObject } from '../../base/common/json.js';
import type { Reply, ServerLists } from '../process-pool/pool.types.js';

/** Limits of each list of a server. */
export const listLimits = { tools: 512, pages: 64, bytes: 1_048_576, levels: 64 } as const;

/** Time for a server to list what it has beside its tools: a start does not wait longer. */
const othersMs = 5_000;
const methodNotFound = -32601;

/** A server's lists, with the capability by which it announces them. Tools are listed whatever it announces. */
const lists = [
  { member: 'tools', method: 'tools/list', capability: undefined },
  { member: 'resources', method: 'resources/list', capability: 'resources' },
  { member: 'resourceTemplates', method: 'resources/templates/list', capability: 'resources' },
  { member: 'prompts', method: 'prompts/list', capability: 'prompts' },
] as const;

/** Notifications after which the lists are read again. */
export const listChanges: ReadonlySet<unknown> = new Set(
  ['tools', 'resources', 'prompts'].map((list) => `notifications/${list}/list_changed`),
);

/** Sends a request. @param answered called with the answer and its size */
export type Ask = (method: string, params: object, answered: (reply: Reply, bytes: number) => void) => void;

/**
 * Reads a server's lists: all tools, and of the rest as much as comes in time and within the limits.
 * @param done called once, with why its tools cannot be listed if so
 */
export function readLists(
  ask: Ask,
  capabilities: JsonObject,
  done: (listed: ServerLists | string) => void,
): void {
  const wanted = lists.filter(({ capability }) => !capability || isObject(capabilities[capability]));
  const found: Partial<Record<keyof ServerLists, readonly JsonObject[]>> = {};
  let isOver = false;
  const end = (listed: ServerLists | string): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    done(listed);
  };
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    if (found.tools) end({ ...found, tools: found.tools });
  }, othersMs).unref();
  for (const { member, method } of wanted) {
    readPages(ask, method, member, (list, wrong) => {
      // Some servers have tools and do not say so in their capabilities: the list decides.
      const isWithout = wrong?.code === methodNotFound && wanted.length > 1;
      if (member === 'tools' && wrong && !isWithout)
        return end(wrong.code === methodNotFound ? 'It is an MCP server without tools' : wrong.message);
      found[member] = list;
      const { tools } = found;
      if (tools && (isLate || Object.keys(found).length === wanted.length)) end({ ...found, tools });
    });
  }
}

type Wrong = { readonly code?: number; readonly message: string };

/** @param done called with what was listed, and with what was wrong with the rest */
function readPages(
  ask: Ask,
  method: string,
  member: string,
  done: (list: readonly JsonObject[], wrong?: Wrong) => void,
): void {
  const list: JsonObject[] = [];
  let [pages, bytes] = [0, 0];
  const page = (params: object): void =>
    ask(method, params, (reply, size) => {
      const read = readPage(reply, method, member);
      if ('message' in read) return done(list, read);
      const message = overLimit(member, list.length + read.items.length, (pages += 1), (bytes += size));
      if (message !== undefined) return done(list, { message });
      list.push(...read.items);
      if (read.cursor === undefined) done(list);
      else page({ cursor: read.cursor });
    });
  page({});
}

function readPage(
  reply: Reply,
  method: string,
  member: string,
): { readonly items: readonly JsonObject[]; readonly cursor?: string } | Wrong {
  const answered = `It answered "${method}"`;
  if ('error' in reply) {
    const { code, message } = reply.error;
    return { code, message: `${answered} with error ${code}: ${message}` };
  }
  const result = isObject(reply.result) ? reply.result : {};
  const { [member]: listed, nextCursor } = result;
  if (!Array.isArray(listed)) return { message: `${answered} without a list of ${member}` };
  const items = listed.map(readableItem);
  // Some servers write '', 0 or false behind the last page.
  if (!nextCursor) return { items };
  return typeof nextCursor === 'string'
    ? { items, cursor: nextCursor }
    : { message: `${answered} with the nextCursor ${jsonExcerpt(nextCursor, 100)}, which is no text` };
}

/** An item without what is nested too deep to be read; anything else by a name that says what it is. */
function readableItem(item: unknown): JsonObject {
  if (!isObject(item)) return { name: `(${jsonExcerpt(item ?? null, 100)})` };
  const members = Object.entries(item).map(([name, value]) => [
    name,
    isDeeperThan(value, listLimits.levels - 1) ? `nested deeper than ${listLimits.levels} levels` : value,
  ]);
  return Object.fromEntries(members) as JsonObject;
}

function overLimit(member: string, items: number, pages: number, bytes: number): string | undefined {
  if (member === 'tools' && items > listLimits.tools) return `It lists more than ${listLimits.tools} tools`;
  if (bytes > listLimits.bytes) return `Its list of ${member} is over ${listLimits.bytes} bytes`;
  return pages > listLimits.pages
    ? `Its list of ${member} has more than ${listLimits.pages} pages`
    : undefined;
}
