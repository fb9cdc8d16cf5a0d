/**
 * The client of MCP's conformance suite: `node conformance-wrapper.mjs <URL of the suite's server>`. Registers the URL at the
 * Toolkeeper at TOOLKEEPER_URL, signs in there if the scenario needs it, calls each tool once and removes it again.
 */
import { TextDecoderStream } from 'node:stream/web';
import { EventSourceParserStream } from 'eventsource-parser/stream';

const [url] = process.argv.slice(2);
const { TOOLKEEPER_URL, TOOLKEEPER_PUBLIC_URL, TOOLKEEPER_API_KEY } = process.env;
const { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_CONTEXT = '{}' } = process.env;
const context = JSON.parse(MCP_CONFORMANCE_CONTEXT);
const { toolCalls = [] } = context;
const server = `suite${process.pid}`;
/** A person gives up, too: after this many sign-ins in a row. */
const maxSignIns = 3;
/** A caller that can be asked while a call runs is served in the older era, if the suite's server has both. */
const elicitation = /elicitation|client-request-state/.test(scenario) ? { form: {}, url: {} } : undefined;

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

/** Calls a tool, and accepts what it asks, with the defaults of its form. @returns where to sign in first */
async function execute(name, input) {
  const answer = await fetch(`${TOOLKEEPER_URL}/api/v1/tools/${name}/execute`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${TOOLKEEPER_API_KEY}`,
      'content-type': 'application/json',
      accept: 'text/event-stream',
    },
    body: JSON.stringify({ input, elicitation }),
  });
  if (!answer.ok) {
    const refusal = await answer.text();
    console.log(answer.status, refusal);
    return JSON.parse(refusal).signInUrl;
  }
  const events = answer.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  for await (const { event, data } of events) {
    console.log(event, data.slice(0, 500));
    const { signInUrl, questionId, params } = JSON.parse(data);
    if (signInUrl) return signInUrl;
    if (event !== 'question') continue;
    const members = Object.entries(params.requestedSchema?.properties ?? {});
    const content = Object.fromEntries(members.map(([key, schema]) => [key, exampleOf(schema)]));
    await ask(`questions/${questionId}`, 'POST', { action: 'accept', content });
  }
}

/** The authorization server as its operator would know it, where the suite does not name it. */
async function issuerOf() {
  const answer = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', url));
  return (await answer.json()).authorization_servers[0];
}

/** Registration of a server that wants no tokens, those of a client that the suite names, or those of each caller. */
async function registration() {
  const { client_id: id, client_secret: secret, issuer } = context;
  if (!scenario.startsWith('auth/')) return {};
  const env = {
    ...(id && { OAUTH_CLIENT_ID: id }),
    ...(secret && { OAUTH_CLIENT_SECRET: secret, OAUTH_ISSUER: issuer ?? (await issuerOf()) }),
  };
  return { credentials: scenario.startsWith('auth/client-credentials') ? 'shared' : 'user', env };
}

/** Goes through the pages of a sign-in. The address at which browsers see the server stands in their links alone. */
async function signIn(link) {
  const { SmallBrowser } = await import('../support/small-browser.ts');
  const browser = new SmallBrowser((address) => address.replace(TOOLKEEPER_PUBLIC_URL, TOOLKEEPER_URL));
  const answer = await browser.signIn(link);
  console.log('signed in', answer.status, (await answer.text()).slice(-300));
}

/** Signs in until the account can be used: an authorization server may have changed meanwhile. */
async function signInFirst() {
  for (let count = 0; count < maxSignIns; count++) {
    const { data } = await ask('accounts');
    const account = data.find((each) => each.server === server);
    if (!account || account.status === 'active') return;
    await signIn(account.signInUrl);
  }
}

/** Calls a tool again after each sign-in that it asks for. */
async function callTool(name, input) {
  for (let count = 0; count < maxSignIns; count++) {
    const link = await execute(name, input);
    if (!link) return;
    await signIn(link);
  }
}

await ask('custom-tools', 'POST', { name: server, protocol: 'mcp', url, ...(await registration()) });
try {
  await signInFirst();
  const { data } = await ask(`custom-tools/${server}/tools`);
  const schemas = {};
  for (const { name, tool } of data.filter(({ state }) => state === 'callable')) {
    if (tool.startsWith('prompts/')) {
      await ask(`prompts/${name}`, 'POST', {});
      continue;
    }
    const { inputSchema } = await ask(`tools/${name}`);
    schemas[tool] = inputSchema;
    // The suite compares the schema of one of its tools as its callers see it.
    const isEcho = tool === 'json_schema_echo';
    await callTool(
      name,
      isEcho ? { schema: schemas['json_schema_2020_12_tool'] } : argumentsOf(tool, inputSchema),
    );
  }
  const { data: resources } = await ask('resources');
  for (const { item } of resources.filter((each) => each.server === server))
    await ask(`resources/read?uri=${encodeURIComponent(item.uri)}`);
} finally {
  await ask(`custom-tools/${server}`, 'DELETE');
}
