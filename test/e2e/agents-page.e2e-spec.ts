import { join } from 'node:path';
import { agentsPage, agentsPageBlocks, type AroundThePage, runAgentsPage } from '../support/agents-page.js';
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

it('every block of docs/agents.md is run by a test', () => {
  const words = Object.values(agentsPage);
  const found = agentsPageBlocks().map((block) => words.filter((word) => block.includes(word)));
  expect(found.flat().sort()).toEqual([...words].sort());
  expect(found.map(({ length }) => length)).toEqual(found.map(() => 1));
});

it('MCP, by its SDK', async () => {
  const after = 'console.log(JSON.stringify({ tools, result })); await client.close();';
  const { tools, result } = JSON.parse(await run('mcp', { after }));
  expect(tools.map(({ name }: { name: string }) => name)).toContain('log_summary');
  expect(result).toMatchObject({ structuredContent: { levels: { error: 1 } } });
});

describe('OpenAI’s API', () => {
  const loop = (task: string) => ({
    before: `
      import OpenAI from 'openai';
      const openai = new OpenAI({ apiKey: 'none', baseURL: '${model.url}/v1' });
      const model = 'scripted';
      const messages = [{ role: 'user', content: ${JSON.stringify(task)} }];`,
    after: `
      const last = await openai.chat.completions.create({ model, messages, tools });
      console.log(last.choices[0].message.content);`,
  });

  it('a model that calls a tool is told its result', async () => {
    const said = await run('openai', loop('Call log_summary with {"text":"ERROR disk full"}'));
    expect(said).toMatch(/^I was told: \{.*disk full/);
  });

  it('one that writes wrong arguments is told what is wrong', async () => {
    const said = await run('openai', loop('Call log_summary with {"txt":"ERROR disk full"}'));
    expect(said).toMatch(/^I was told: invalid_input: .*text is required/);
  });

  it('nothing that it was sent was malformed', () => expect(model.refused).toEqual([]));
});
