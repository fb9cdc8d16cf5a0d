import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { askHolmes, installHolmes, noPython } from './holmes.mjs';
import { startPlatformServer } from './platform-server.mjs';
import { installPython, noVenv, runPythonPage } from './python.mjs';

// real: the built server, its tools' processes, HTTP, each platform's client; mock: the models, which answer only from what
// they are sent

const { agentsPageBlock, runAgentsPage } = await import('../support/agents-page.ts');
const { startScriptedModel } = await import('../support/scripted-model.ts');
const task = 'A summary of this text: "ERROR disk full", top 3';
/** The model repeats what came of its call. */
const told = /^I was told: .*disk full/s;
const quotedTask = JSON.stringify(task);
/** The page gives them with OpenAI's code, and uses them in the blocks after it. */
const nativeHelpers = agentsPageBlock('openai', 'http://localhost:3000').split('\n', 2).join('\n');

describe('clients, by the code of docs/agents/connect.md', () => {
  let server;
  let model;
  before(async () => {
    model = await startScriptedModel();
    server = await startPlatformServer();
  });
  after(async () => {
    await model.close();
    await server.stop();
  });

  /** Runs the page's own code, between this. */
  const page = (which, { before: first = '', after: then }) => {
    const { url, key } = server;
    return runAgentsPage(which, { url, key, folder: import.meta.dirname, before: first, after: then });
  };

  it('the SDK of the stateless revision', async () => {
    const printed = await page('stateless', {
      after: `
        const { tools } = await client.listTools();
        const { name } = tools.find(({ inputSchema }) => inputSchema.properties.text);
        const result = await client.callTool({ name, arguments: { text: 'ERROR disk full' } });
        console.log(result.content[0].text);
        await client.close();`,
    });
    assert.match(printed, /disk full/);
  });

  it('the SDK of the stateless revision, at a virtual server', async () => {
    const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
    const fixture = join(import.meta.dirname, '..', 'fixtures', 'tools', 'mcp-offers.mjs');
    const command = { protocol: 'mcp', command: 'node', args: [fixture] };
    await server.register({ name: 'offers', ...command, sandbox: { allowedPaths: [fixture] } });
    const members = [
      { tool: 'offers__heard', as: 'renamed' },
      { prompt: 'offers__greet', as: 'hello' },
      { resource: 'test://offers/only' },
    ];
    const body = { name: 'chosen', members };
    await server.ask('mcp-servers', { method: 'POST', status: 201, body });
    const changed = Promise.withResolvers();
    const client = new Client(
      { name: 'test', version: '1.0.0' },
      {
        versionNegotiation: { mode: { pin: '2026-07-28' } },
        listChanged: { tools: { onChanged: (error, tools) => changed.resolve(error ?? tools) } },
      },
    );
    const requestInit = { headers: server.key };
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${server.url}/mcp/chosen`), { requestInit }),
    );
    const namesIn = (list) => list.map(({ name, uri = name }) => uri);
    assert.deepEqual(namesIn((await client.listTools()).tools), ['renamed']);
    assert.deepEqual(namesIn((await client.listPrompts()).prompts), ['hello']);
    assert.deepEqual(namesIn((await client.listResources()).resources), ['test://offers/only']);
    const { content } = await client.callTool({ name: 'renamed', arguments: {} });
    assert.deepEqual(content, [{ type: 'text', text: 'heard' }]);
    const { contents } = await client.readResource({ uri: 'test://offers/only' });
    assert.equal(contents[0].text, 'offers: test://offers/only');
    const { messages } = await client.getPrompt({ name: 'hello', arguments: { who: 'Ada' } });
    assert.equal(messages[0].content.text, 'offers: hello Ada');
    await assert.rejects(client.callTool({ name: 'offers__heard', arguments: {} }));
    await server.ask('mcp-servers/chosen', { method: 'PATCH', body: { members: [{ server: 'offers' }] } });
    assert.equal((await changed.promise).length, 5);
    await client.close();
  });

  it('the AI SDK, with a model', async () => {
    const printed = await page('ai', {
      before: `
        import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
        import { generateText, isStepCount } from 'ai';`,
      after: `
        const model = createOpenAICompatible({ name: 'scripted', baseURL: '${model.url}/v1' })('scripted');
        const { text } = await generateText({ model, tools, prompt: ${quotedTask}, stopWhen: isStepCount(3) });
        console.log(text);
        await client.close();`,
    });
    assert.match(printed, told);
  });

  it('the OpenAI Agents SDK, with a model', async () => {
    const printed = await page('agents', {
      before: "import { OpenAIProvider, Runner } from '@openai/agents';",
      after: `
        const provider = { apiKey: 'none', baseURL: '${model.url}/v1', useResponses: false };
        const modelProvider = new OpenAIProvider(provider);
        const runner = new Runner({ modelProvider, model: 'scripted', tracingDisabled: true });
        console.log((await runner.run(agent, ${quotedTask})).finalOutput);
        await toolkeeper.close();`,
    });
    assert.match(printed, told);
  });

  it('LangChain, with a model', async () => {
    const printed = await page('langchain', {
      before: `
        import { ChatOpenAI } from '@langchain/openai';
        import { createAgent } from 'langchain';`,
      after: `
        const configuration = { baseURL: '${model.url}/v1' };
        const model = new ChatOpenAI({ model: 'scripted', apiKey: 'none', configuration });
        const messages = [{ role: 'user', content: ${quotedTask} }];
        const state = await createAgent({ model, tools }).invoke({ messages });
        console.log(state.messages.at(-1).text);
        await client.close();`,
    });
    assert.match(printed, told);
  });

  it('Anthropic’s API, with a model', async () => {
    const printed = await page('anthropic', {
      before: `
        ${nativeHelpers}
        import Anthropic from '@anthropic-ai/sdk';
        const anthropic = new Anthropic({ apiKey: 'none', baseURL: '${model.url}' });
        const model = 'scripted';
        const messages = [{ role: 'user', content: ${quotedTask} }];`,
      after: `
        const last = await anthropic.messages.create({ model, max_tokens: 1024, messages, tools });
        console.log(last.content[0].text);`,
    });
    assert.match(printed, told);
  });

  describe('in Python', () => {
    const messages = `[{'role': 'user', 'content': ${quotedTask}}]`;
    const ways = {
      pythonOpenAi: {
        before: `
          from openai import OpenAI
          client, model, messages = OpenAI(base_url='MODEL/v1'), 'scripted', ${messages}`,
        after: `
          last = client.chat.completions.create(model=model, messages=messages, tools=tools)
          print(last.choices[0].message.content)`,
      },
      pythonAnthropic: {
        before: `
          import httpx
          from anthropic import Anthropic
          api = httpx.Client(base_url=f'{url}/api/v1', headers=headers)
          client, model, messages = Anthropic(api_key='none', base_url='MODEL'), 'scripted', ${messages}`,
        after: `
          last = client.messages.create(model=model, max_tokens=1024, messages=messages, tools=tools)
          print(last.content[0].text)`,
      },
      pydanticAi: {
        before: `
          from pydantic_ai.models.openai import OpenAIChatModel
          from pydantic_ai.providers.openai import OpenAIProvider
          model = OpenAIChatModel('scripted', provider=OpenAIProvider(base_url='MODEL/v1', api_key='none'))`,
        after: `print((await agent.run(${quotedTask})).output)`,
      },
      pythonAgents: {
        after: `
          from agents import OpenAIProvider, RunConfig, Runner
          provider = OpenAIProvider(base_url='MODEL/v1', api_key='none', use_responses=False)
          run = RunConfig(model='scripted', model_provider=provider, tracing_disabled=True)
          print((await Runner.run(agent, ${quotedTask}, run_config=run)).final_output)
          await toolkeeper.cleanup()`,
      },
      pythonLangchain: {
        after: `
          from langchain.agents import create_agent
          from langchain_openai import ChatOpenAI
          model = ChatOpenAI(model='scripted', api_key='none', base_url='MODEL/v1')
          state = await create_agent(model, tools).ainvoke({'messages': ${messages}})
          print(state['messages'][-1].text)`,
      },
    };
    for (const [which, code] of Object.entries(ways))
      it(`${which}, with a model`, async (test) => {
        const versions = installPython();
        if (versions === undefined) return test.skip(noVenv);
        test.diagnostic(versions);
        const own = Object.entries(code).map(([name, text]) => [name, dedented(text)]);
        const { url, key } = server;
        assert.match(await runPythonPage(which, { url, key, ...Object.fromEntries(own) }), told);
      });

    const dedented = (text) => text.replaceAll(/^ {10}/gm, '').replaceAll('MODEL', model.url);
  });

  it('HolmesGPT, with a model', async (test) => {
    if (!installHolmes()) return test.diagnostic(noPython);
    const { answer } = await askHolmes(
      { config: agentsPageBlock('holmes', server.url), model: `${model.url}/v1`, task },
      { TOOLKEEPER_KEY: server.key.authorization.slice('Bearer '.length) },
    );
    assert.match(answer, told);
  });

  it('the models were sent nothing that their platforms refuse', () => assert.deepEqual(model.refused, []));

  it('the inspector lists and calls', async () => {
    const program = join(import.meta.dirname, 'node_modules', '.bin', 'mcp-inspector');
    const inspect = async (...asked) => {
      const args = [program, '--cli', `${server.url}/mcp`, '--transport', 'http', ...asked];
      return (await promisify(execFile)(process.execPath, args)).stdout;
    };
    assert.match(await inspect('--method', 'tools/list'), /log_summary/);
    const called = await inspect(
      '--method',
      'tools/call',
      '--tool-name',
      'log_summary',
      '--tool-arg',
      'text=disk full',
    );
    assert.match(called, /disk full/);
  });
});
