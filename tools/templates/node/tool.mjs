#!/usr/bin/env node
/**
 * Starting point for a tool in Node. Copy the folder, change `definition` and `run`, register it.
 *
 * One JSON-RPC 2.0 request a line on stdin, one answer a line on stdout, anything else on stderr
 * (docs/tools/protocol.md). Nothing but Node itself is needed.
 */

const definition = {
  name: 'my_node_tool', // must equal the name in tool.json
  description:
    'Say in one or two sentences what the tool does, for which questions an agent should call it, and what it answers.',
  version: '1.0.0',
  // Agents read the descriptions; Toolkeeper checks every call against the bounds before it reaches run().
  inputSchema: {
    type: 'object',
    properties: {
      query: {
        type: 'string',
        minLength: 1,
        maxLength: 1000,
        description: 'What to look for.',
        examples: ['pods'],
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: 100,
        default: 10,
        description: 'How many results to return at most.',
      },
    },
    required: ['query'],
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

/**
 * The tool's work; may be async. Returns a JSON value, throws InvalidInput or ToolError.
 * context: runId, executionId, workingDir, timeout (milliseconds that are left for this call).
 * signal aborts when the caller has left or the time is up: hand it to whatever waits, as in fetch(url, { signal }).
 * progress(done, total, message) tells callers that follow the call how far it is.
 */
async function run({ query, limit = 10 }, context, { signal, progress }) {
  // The same rules as in the schema: whoever runs this file without Toolkeeper gets them too.
  if (typeof query !== 'string' || query.length < 1 || query.length > 1000) {
    throw new InvalidInput('query must be a string of 1 to 1000 characters');
  }
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
    throw new InvalidInput('limit must be a whole number from 1 to 100');
  }
  if (query === 'fail') throw new ToolError('This is how a failure is told', { query });
  console.error(`query of ${query.length} characters, ${context.timeout} ms left`); // stderr is the tool's log
  // To run another program: execFile(file, [args]) with stdio 'ignore' for its stdin, never exec() with a string.
  const items = [];
  for (let id = 1; id <= limit; id++) {
    signal.throwIfAborted();
    items.push({ id, title: `Result ${id} for ${query}` });
    progress(id, limit); // leave it out where a call is quick
  }
  return { items, count: items.length };
}

/** Cheap and quick: is what the tool needs there? status: healthy, degraded or unhealthy. */
function health() {
  return { status: 'healthy' };
}

// ---- The protocol. Nothing below needs a change. --------------------------------------------------------------

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const failure = (code, message, data) => ({ error: { code, message, data } });

/** Calls that run, by the id of their request. */
const running = new Map();

const notify = (method, params) => process.stdout.write(`${encode({ jsonrpc: '2.0', method, params })}\n`);

async function execute({ input = {}, context = {} }, id) {
  if (!isObject(input) || !isObject(context)) return failure(-32602, 'input and context must be objects');
  const controller = new AbortController();
  running.set(id, controller);
  const { signal } = controller;
  const progress = (done, total, message) => notify('progress', { id, progress: done, total, message });
  try {
    return { result: (await run(input, context, { signal, progress })) ?? null };
  } catch (error) {
    if (signal.aborted) return failure(-32000, 'Cancelled');
    if (error instanceof InvalidInput) return failure(-32602, error.message);
    if (error instanceof ToolError) return failure(-32001, error.message, error.data);
    console.error(error); // an unforeseen failure ends this call, not the process
    return failure(-32001, String(error));
  } finally {
    running.delete(id);
  }
}

async function dispatch({ jsonrpc, id, method, params = {} }) {
  if (jsonrpc !== '2.0' || typeof method !== 'string') {
    return failure(-32600, 'The request needs "jsonrpc": "2.0" and a method');
  }
  if (!isObject(params)) return failure(-32602, 'params must be an object');
  if (method === 'initialize') {
    return { result: { ...definition, protocolVersion: '1.1', capabilities: { cancel: true } } };
  }
  if (method === 'health') return { result: health() };
  if (method === 'execute') return execute(params, id);
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
  if (request.method === 'cancel' && request.id === undefined) {
    running.get(request.params?.id)?.abort();
    return undefined; // a notification is not answered
  }
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
  const message = line.trim() ? await answer(line) : undefined;
  if (message) process.stdout.write(`${encode(message)}\n`);
}

console.log = console.error; // a stray console.log() lands in the log, not between the replies

// Split on \n alone: node:readline also splits on U+2028, which may stand unescaped inside a JSON string.
let rest = '';
process.stdin.setEncoding('utf8');
for await (const chunk of process.stdin) {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  // Not awaited: a cancel must be read while its call runs.
  for (const line of lines) void reply(line);
}
await reply(rest);
