import { join } from 'node:path';
import {
  agentsPage,
  agentsPageBlock,
  agentsPageBlocks,
  type AroundThePage,
  runAgentsPage,
  runBlock,
} from '../support/agents-page.js';
import { startApp, type TestApp } from '../support/app.js';
import { type ScriptedModel, startScriptedModel } from '../support/scripted-model.js';

// real: the page's own code, the whole server, HTTP, the SDKs of MCP and OpenAI; mock: the model, which answers only from
// what it is sent. test/platforms runs the page's other blocks.

let tk: TestApp;
let model: ScriptedModel;
beforeAll(async () => {
  tk = await startApp({ CUSTOM_TOOLS_DIR: join(__dirname, '../../tools/installed') });
  model = await startScriptedModel();
});
afterAll(async () => {
  await model.close();
  await tk.close();
});

const run = (which: keyof typeof agentsPage, around: Pick<AroundThePage, 'before' | 'after'>) =>
  runAgentsPage(which, { url: tk.url, key: tk.key, ...around });

it('every block of docs/agents/connect.md is run by a test', () => {
  const words = Object.values(agentsPage);
  const found = agentsPageBlocks().map((block) => words.filter((word) => block.includes(word)));
  expect(found.flat().sort()).toEqual([...words].sort());
  expect(found.map(({ length }) => length)).toEqual(found.map(() => 1));
});

/** What the models are given. */
const asking = (task: string): string => `
  import OpenAI from 'openai';
  const openai = new OpenAI({ apiKey: 'none', baseURL: '${model.url}/v1' });
  const model = 'scripted';
  const messages = [{ role: 'user', content: ${JSON.stringify(task)} }];`;
/** The page gives them with OpenAI's code, and uses them in the blocks after it. */
const helpers = agentsPageBlock('openai', 'http://localhost:3000').split('\n', 2).join('\n');
const task = 'A summary of this text: "ERROR disk full", top 3';

it('MCP, by its SDK, with a model', async () => {
  const after = `
    const offered = tools.map(({ name, description, inputSchema: parameters }) => ({
      type: 'function',
      function: { name, description, parameters },
    }));
    const { choices } = await openai.chat.completions.create({ model, messages, tools: offered });
    const { message } = choices[0];
    const [{ id, function: called }] = message.tool_calls;
    const { content } = await client.callTool({ name: called.name, arguments: JSON.parse(called.arguments) });
    messages.push(message, { role: 'tool', tool_call_id: id, content });
    const last = await openai.chat.completions.create({ model, messages, tools: offered });
    console.log(JSON.stringify({ result, said: last.choices[0].message.content }));
    await client.close();`;
  const { result, said } = JSON.parse(await run('mcp', { before: asking(task), after }));
  expect(result).toMatchObject({ structuredContent: { levels: { error: 1 } } });
  expect(said).toMatch(/^I was told: \{.*disk full/);
});

describe('OpenAI’s API', () => {
  const loop = (words: string) => ({
    before: asking(words),
    after: `
      const last = await openai.chat.completions.create({ model, messages, tools });
      console.log(last.choices[0].message.content);`,
  });

  it('a model that calls a tool is told its result', async () => {
    expect(await run('openai', loop(task))).toMatch(/^I was told: \{.*disk full/);
  });

  it('one that writes wrong arguments is told what is wrong', async () => {
    const said = await run('openai', loop('A summary of this text, top 3'));
    expect(said).toMatch(/^I was told: invalid_input: .*text is required/);
  });
});

it('a model that is given find_tools alone finds what it needs, and calls it', async () => {
  const before = `${asking(task)}
    ${helpers}
    const found = await (async () => {
      const offered = [await (await fetch(\`\${url}/api/v1/tools/find_tools?format=openai\`)).json()];
      const wish = [{ role: 'user', content: 'Find tools that do "the summary of a log"' }];
      const { choices } = await openai.chat.completions.create({ model, messages: wish, tools: offered });
      const body = JSON.stringify({ toolCalls: choices[0].message.tool_calls });
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(\`\${url}/api/v1/tool-calls\`, { method: 'POST', headers, body });
      return JSON.parse((await answer.json()).results[0].content);
    })();`;
  const after = `
    const { choices } = await openai.chat.completions.create({ model, messages, tools });
    console.log(JSON.stringify([tools.length, choices[0].message.tool_calls[0].function]));`;
  const [offered, called] = JSON.parse(await run('find', { before, after }));
  expect(offered).toBeGreaterThan(1);
  expect([called.name, JSON.parse(called.arguments)]).toEqual([
    'log_summary',
    { text: 'ERROR disk full', top: 3 },
  ]);
});

it('Distri’s tools, by the code of docs/agents/pages.md', async () => {
  const [block = ''] = agentsPageBlocks('pages.md');
  const after = `
    const tools = await toolkeeperTools(url, headers);
    const call = (wanted, input) => tools.find(({ name }) => name === wanted).handler(input);
    console.log(JSON.stringify({
      types: [...new Set(tools.map(({ type }) => type))],
      answers: [
        await call('log_summary', { text: 'ERROR disk full' }),
        await call('log_summary', {}),
        await call('list_labels', {}),
        await call('fetch_spans_summary', {}),
      ],
    }));`;
  const { types, answers } = JSON.parse(await runBlock(block, { url: tk.url, key: tk.key, after }));
  expect(types).toEqual(['function']);
  expect(answers.map((text: string): unknown => JSON.parse(text))).toMatchObject([
    { levels: { error: 1 } },
    { success: false, error: expect.stringContaining('text is required') },
    { success: true, data: [], total: 0 },
    { success: false, error: expect.stringContaining('threadIds, runIds, or labels is required') },
  ]);
});

it('nothing that the model was sent was malformed', () => expect(model.refused).toEqual([]));
