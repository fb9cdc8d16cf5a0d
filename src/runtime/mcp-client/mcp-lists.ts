import { isDeeperThan, jsonExcerpt } from '../../base/common/json-depth.js';
import { isObject, type JsonObject } from '../../base/common/json.js';
import type { Reply, ServerLists } from '../process-pool/pool.types.js';

export const listLimits = { tools: 512, pages: 64, bytes: 1_048_576, levels: 64 } as const;

/** Timeout of all lists except the tools, because a start waits for them. */
const othersMs = 5_000;
const methodNotFound = -32601;

/** A server's lists, each with the capability that announces it. Tools, the first, are always requested. */
const knownLists = [
  { member: 'tools', method: 'tools/list', capability: undefined },
  { member: 'resources', method: 'resources/list', capability: 'resources' },
  { member: 'resourceTemplates', method: 'resources/templates/list', capability: 'resources' },
  { member: 'prompts', method: 'prompts/list', capability: 'prompts' },
] as const;

/** Notifications after which the lists are read again. */
export const listChanges: ReadonlySet<unknown> = new Set(
  ['tools', 'resources', 'prompts'].map((list) => `notifications/${list}/list_changed`),
);

/** Sends a request to the server. `onReply` gets the answer and its size. */
export type SendRequest = (
  method: string,
  params: object,
  onReply: (reply: Reply, bytes: number) => void,
) => void;

/**
 * Reads a server's lists: all tools, and the other lists as far as they come in time and within the limits.
 * @param onDone called once, with the lists or with the reason why the tools cannot be listed
 */
export function readLists(
  request: SendRequest,
  capabilities: JsonObject,
  onDone: (received: ServerLists | string) => void,
): void {
  const wanted = knownLists.filter(({ capability }) => !capability || isObject(capabilities[capability]));
  const received: Partial<Record<keyof ServerLists, readonly JsonObject[]>> = {};
  let isOver = false;
  const finish = (result: ServerLists | string): void => {
    clearTimeout(timer);
    if (!isOver) onDone(result);
    isOver = true;
  };
  const store = (member: keyof ServerLists, list: readonly JsonObject[]): void => {
    received[member] ??= list;
    if (Object.keys(received).length === wanted.length) finish(received as ServerLists);
  };
  const onLate = (): void => wanted.slice(1).forEach(({ member }) => store(member, []));
  const timer = setTimeout(onLate, othersMs).unref();
  for (const { member, method } of wanted)
    readPages(request, method, member, (list, failure, code) => {
      if (member !== 'tools' || failure === undefined) store(member, list);
      else if (code !== methodNotFound) finish(failure);
      // The capabilities are not checked, because some servers have tools without announcing them.
      else if (wanted.length > 1) store(member, []);
      else finish('It is an MCP server without tools');
    });
}

/**
 * Reads all pages of a list.
 * @param onDone called with the items; also with the reason and the error's code if some could not be read
 */
function readPages(
  request: SendRequest,
  method: string,
  member: string,
  onDone: (list: readonly JsonObject[], failure?: string, code?: number) => void,
): void {
  const itAnswered = `It answered "${method}"`;
  const list: JsonObject[] = [];
  let pages = 0;
  let bytes = 0;
  const readPage = (params: object): void =>
    request(method, params, (reply, size) => {
      if ('error' in reply) {
        const { code, message } = reply.error;
        return onDone(list, `${itAnswered} with error ${code}: ${message}`, code);
      }
      const { [member]: items, nextCursor } = isObject(reply.result) ? reply.result : {};
      if (!Array.isArray(items)) return onDone(list, `${itAnswered} without a list of ${member}`);
      pages += 1;
      bytes += size;
      const excess = whyOverLimit(member, { items: list.length + items.length, pages, bytes });
      if (excess !== undefined) return onDone(list, excess);
      list.push(...items.map(readableItem));
      // Some servers send '', 0 or false after the last page.
      if (!nextCursor) return onDone(list);
      if (typeof nextCursor === 'string') return readPage({ cursor: nextCursor });
      onDone(list, `${itAnswered} with the nextCursor ${jsonExcerpt(nextCursor, 100)}, which is no text`);
    });
  readPage({});
}

/** An item with too deep values replaced; a non-object becomes a placeholder with a name. */
function readableItem(item: unknown): JsonObject {
  if (!isObject(item)) return { name: `(${jsonExcerpt(item ?? null, 100)})` };
  const members = Object.entries(item).map(([name, value]) => [
    name,
    isDeeperThan(value, listLimits.levels - 1) ? `nested deeper than ${listLimits.levels} levels` : value,
  ]);
  return Object.fromEntries(members) as JsonObject;
}

/** The limit that a list exceeds; undefined if it exceeds none. */
function whyOverLimit(
  member: string,
  { items, pages, bytes }: Readonly<Record<'items' | 'pages' | 'bytes', number>>,
): string | undefined {
  const { tools, bytes: maxBytes, pages: maxPages } = listLimits;
  if (member === 'tools' && items > tools) return `It lists more than ${tools} tools`;
  if (bytes > maxBytes) return `Its list of ${member} is over ${maxBytes} bytes`;
  return pages > maxPages ? `Its list of ${member} has more than ${maxPages} pages` : undefined;
}

/**
 * An item of a server's list with only the icons that clients may load: data URLs, and HTTPS URLs of the server's origin.
 * @param url of the server; null for a program
 */
export function withOwnIcons<T extends JsonObject>(item: T, url: string | null): T {
  const { icons, ...others } = item;
  if (icons === undefined) return item;
  const all = Array.isArray(icons) ? icons : [];
  const safe = all.filter((icon) => isObject(icon) && isSafeSource(icon['src'], url));
  return { ...others, ...(safe.length > 0 && { icons: safe }) } as unknown as T;
}

function isSafeSource(src: unknown, server: string | null): boolean {
  const url = typeof src === 'string' ? URL.parse(src) : null;
  if (url?.protocol === 'data:') return /^image\//i.test(url.pathname);
  return url?.protocol === 'https:' && server !== null && url.origin === URL.parse(server)?.origin;
}
