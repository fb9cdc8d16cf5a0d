#!/usr/bin/env node
/** json_diff: in what two JSON values differ, as a list of pointers. Built on templates/node. */

const maxIgnored = 100;
const maxChanges = 1000;
const pointerPattern = '^(/([^/~]|~[01])*)*$';

const definition = {
  name: 'json_diff',
  description:
    'Compares two JSON values (configurations, manifests, API answers) and lists every difference as a JSON pointer ' +
    'with the old and the new value. The order of members never counts; lists are compared by position, or by a ' +
    'member such as "name" that identifies their items. Use it to see exactly what changed between two versions.',
  version: '1.0.0',
  inputSchema: {
    type: 'object',
    properties: {
      before: { description: 'The older value: any JSON value.' },
      after: { description: 'The newer value: any JSON value.' },
      ignore: {
        type: 'array',
        maxItems: maxIgnored,
        items: { type: 'string', maxLength: 1000, pattern: pointerPattern },
        default: [],
        description:
          'JSON pointers that are left out with everything below them, for example "/metadata/uid".',
      },
      itemKey: {
        type: 'string',
        minLength: 1,
        maxLength: 100,
        description:
          'Member that identifies the items of a list, for example "name". Lists in which every item is an object ' +
          'with its own text or number there are compared item by item, whatever their order; others by position.',
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: maxChanges,
        default: 200,
        description: 'How many differences to return at most; all are counted.',
      },
    },
    required: ['before', 'after'],
    additionalProperties: false,
  },
};

/** The caller's mistake: answered as -32602, never counted against the tool. */
class InvalidInput extends Error {}

/** The tool could not do it: answered as -32001. `data` may hold any JSON value that explains it. */
class ToolError extends Error {
  constructor(message, data) {
    super(message);
    this.data = data;
  }
}

/** Pointers of added and replaced values lead into `after`, those of removed ones into `before`. */
async function run(input) {
  const { before, after, ignore, itemKey, limit } = checked(input);
  const diff = { ignored: new Set(ignore), itemKey, limit, changes: [], total: 0 };
  try {
    compare(diff, '', before, after);
  } catch (error) {
    if (error instanceof RangeError) throw new ToolError('The values are nested too deeply');
    throw error;
  }
  const { changes, total } = diff;
  return { equal: total === 0, total, truncated: total > changes.length, changes };
}

function checked(input) {
  const { ignore = [], itemKey, limit = 200, ...rest } = input;
  const unknown = Object.keys(rest).filter((name) => name !== 'before' && name !== 'after');
  if (unknown.length > 0) throw new InvalidInput(`Unknown member of the input: ${unknown.join(', ')}`);
  for (const name of ['before', 'after']) {
    if (!Object.hasOwn(input, name)) throw new InvalidInput(`${name} is missing`);
  }
  const pointer = new RegExp(pointerPattern);
  if (
    !Array.isArray(ignore) ||
    ignore.length > maxIgnored ||
    !ignore.every((p) => isText(p, 0, 1000) && pointer.test(p))
  ) {
    throw new InvalidInput(`ignore must be a list of at most ${maxIgnored} JSON pointers`);
  }
  if (itemKey !== undefined && !isText(itemKey, 1, 100)) {
    throw new InvalidInput('itemKey must be a string of 1 to 100 characters');
  }
  if (!Number.isInteger(limit) || limit < 1 || limit > maxChanges) {
    throw new InvalidInput(`limit must be a whole number from 1 to ${maxChanges}`);
  }
  return { ...input, ignore, itemKey, limit };
}

function isText(value, min, max) {
  if (typeof value !== 'string') return false;
  const { length } = [...value];
  return min <= length && length <= max;
}

function compare(diff, pointer, before, after) {
  if (diff.ignored.has(pointer)) return;
  if (Array.isArray(before) && Array.isArray(after)) compareLists(diff, pointer, before, after);
  else if (isObject(before) && isObject(after)) compareObjects(diff, pointer, before, after);
  else if (before !== after) note(diff, { pointer, op: 'replace', old: before, new: after });
}

function compareObjects(diff, pointer, before, after) {
  for (const [name, old] of Object.entries(before)) {
    const at = step(pointer, name);
    if (Object.hasOwn(after, name)) compare(diff, at, old, after[name]);
    else note(diff, { pointer: at, op: 'remove', old });
  }
  for (const [name, added] of Object.entries(after)) {
    if (!Object.hasOwn(before, name)) note(diff, { pointer: step(pointer, name), op: 'add', new: added });
  }
}

function compareLists(diff, pointer, before, after) {
  const beforeAt = positions(before, diff.itemKey);
  const afterAt = positions(after, diff.itemKey);
  const byKey = beforeAt !== undefined && afterAt !== undefined;
  const place = (at, item, index) => (byKey ? at.get(identity(item, diff.itemKey)) : index);
  before.forEach((item, index) => {
    const match = place(afterAt, item, index);
    if (match in after) compare(diff, step(pointer, match), item, after[match]);
    else note(diff, { pointer: step(pointer, index), op: 'remove', old: item });
  });
  after.forEach((item, index) => {
    const match = place(beforeAt, item, index);
    if (!(match in before)) note(diff, { pointer: step(pointer, index), op: 'add', new: item });
  });
}

/** Where each item stands by what identifies it; undefined where an item has nothing, or shares it. */
function positions(list, itemKey) {
  if (itemKey === undefined) return undefined;
  const found = new Map(list.map((item, index) => [identity(item, itemKey), index]));
  return found.has(undefined) || found.size < list.length ? undefined : found;
}

function identity(item, itemKey) {
  const key = isObject(item) && Object.hasOwn(item, itemKey) ? item[itemKey] : undefined;
  return ['string', 'number'].includes(typeof key) ? key : undefined;
}

function note(diff, change) {
  if (diff.ignored.has(change.pointer)) return;
  diff.total += 1;
  if (diff.changes.length < diff.limit) diff.changes.push(change);
}

const step = (pointer, name) => `${pointer}/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;

function health() {
  return { status: 'healthy' };
}

// ---- The protocol. Nothing below needs a change. --------------------------------------------------------------

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const failure = (code, message, data) => ({ error: { code, message, data } });

async function execute({ input = {}, context = {} }) {
  if (!isObject(input) || !isObject(context)) return failure(-32602, 'input and context must be objects');
  try {
    return { result: (await run(input, context)) ?? null };
  } catch (error) {
    if (error instanceof InvalidInput) return failure(-32602, error.message);
    if (error instanceof ToolError) return failure(-32001, error.message, error.data);
    console.error(error); // an unforeseen failure ends this call, not the process
    return failure(-32001, String(error));
  }
}

async function dispatch({ jsonrpc, method, params = {} }) {
  if (jsonrpc !== '2.0' || typeof method !== 'string') {
    return failure(-32600, 'The request needs "jsonrpc": "2.0" and a method');
  }
  if (!isObject(params)) return failure(-32602, 'params must be an object');
  if (method === 'initialize') return { result: definition };
  if (method === 'health') return { result: health() };
  if (method === 'execute') return execute(params);
  return failure(-32601, `Method not found: ${method}`);
}

async function answer(line) {
  let request;
  try {
    request = JSON.parse(line);
  } catch (error) {
    return { jsonrpc: '2.0', id: null, ...failure(-32700, `Parse error: ${error.message}`) };
  }
  if (!isObject(request))
    return { jsonrpc: '2.0', id: null, ...failure(-32600, 'The request must be an object') };
  const id = ['string', 'number'].includes(typeof request.id) ? request.id : null;
  return { jsonrpc: '2.0', id, ...(await dispatch(request)) };
}

/** JSON.stringify escapes line breaks: a reply is one line whatever stands in it. */
function encode(message) {
  try {
    return JSON.stringify(message);
  } catch (error) {
    return JSON.stringify({
      ...message,
      result: undefined,
      ...failure(-32603, `The result is not JSON: ${error}`),
    });
  }
}

async function reply(line) {
  if (line.trim()) process.stdout.write(`${encode(await answer(line))}\n`);
}

console.log = console.error; // a stray console.log() lands in the log, not between the replies

// Split on \n alone: node:readline also splits on U+2028, which may stand unescaped inside a JSON string.
let rest = '';
process.stdin.setEncoding('utf8');
for await (const chunk of process.stdin) {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const line of lines) await reply(line);
}
await reply(rest);
