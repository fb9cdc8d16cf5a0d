/**
 * The client of MCP's conformance suite: `node conformance-wrapper.mjs <URL of the suite's server>`. Registers the URL at the
 * Toolkeeper at TOOLKEEPER_URL, calls each tool once and removes it again.
 */
import { TextDecoderStream } from 'node:stream/web';
import { EventSourceParserStream } from 'eventsource-parser/stream';

const [url] = process.argv.slice(2);
const { TOOLKEEPER_URL, TOOLKEEPER_API_KEY, MCP_CONFORMANCE_CONTEXT = '{}' } = process.env;
const { toolCalls = [] } = JSON.parse(MCP_CONFORMANCE_CONTEXT);
const server = `suite${process.pid}`;

async function ask(path, method = 'GET', body) {
  const headers = {
    authorization: `Bearer ${TOOLKEEPER_API_KEY}`,
    ...(body && { 'content-type': 'application/json' }),
  };
  const answer = await fetch(`${TOOLKEEPER_URL}/api/v1/${path}`, {
    method,
    headers,
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  console.log(method, path, answer.status, text.slice(0, 500));
  if (answer.status >= 500 || (path === 'custom-tools' && !answer.ok)) throw new Error(text);
  return text && JSON.parse(text);
}

const examples = { string: 'text', number: 1.5, integer: 2, boolean: true, array: [], object: {} };
const exampleOf = ({ default: given, enum: [first] = [], type }) => given ?? first ?? examples[type] ?? null;

/** Arguments that the suite names, without nulls: a schema that has none refuses them. Otherwise an example for each property. */
function argumentsOf(name, { properties = {} }) {
  const named = toolCalls.find((each) => each.name === name)?.arguments;
  const members = Object.entries(named ?? properties).map(([key, value]) => [
    key,
    named ? value : exampleOf(value),
  ]);
  return Object.fromEntries(members.filter(([, value]) => value !== null));
}

/** Calls a tool, and accepts what it asks, with the defaults of its form. */
async function execute(name, input) {
  const answer = await fetch(`${TOOLKEEPER_URL}/api/v1/tools/${name}/execute`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${TOOLKEEPER_API_KEY}`,
      'content-type': 'application/json',
      accept: 'text/event-stream',
    },
    body: JSON.stringify({ input, elicitation: { form: {}, url: {} } }),
  });
  if (!answer.ok) return console.log(answer.status, await answer.text());
  const events = answer.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  for await (const { event, data } of events) {
    console.log(event, data.slice(0, 500));
    if (event !== 'question') continue;
    const { questionId, params } = JSON.parse(data);
    const members = Object.entries(params.requestedSchema?.properties ?? {});
    const content = Object.fromEntries(members.map(([key, schema]) => [key, exampleOf(schema)]));
    await ask(`questions/${questionId}`, 'POST', { action: 'accept', content });
  }
}

await ask('custom-tools', 'POST', { name: server, protocol: 'mcp', url });
try {
  const { data } = await ask(`custom-tools/${server}/tools`);
  for (const { name } of data.filter(({ state }) => state === 'callable')) {
    const { inputSchema } = await ask(`tools/${name}`);
    await execute(name, argumentsOf(name.split('__')[1], inputSchema));
  }
} finally {
  await ask(`custom-tools/${server}`, 'DELETE');
}
