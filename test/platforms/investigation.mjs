import { createMCPClient } from '@ai-sdk/mcp';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, isStepCount } from 'ai';
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startPlatformServer } from './platform-server.mjs';

// real: the built server, a tool's process, HTTP, OpenTelemetry's exporter, the AI SDK over MCP; mock: the models, the agent's and
// the judge's, which answer only from what they are sent

const { model } = await import('../support/investigation.ts');
const { startLlmServer } = await import('../support/llm-endpoint.ts');
const { exportRun, ordersFound, wentWrong } = await import('../support/planted-run.ts');

const fixture = join(import.meta.dirname, '..', 'fixtures', 'tools', 'fixture-tool.mjs');

describe('an agent asks what went wrong in a run', () => {
  let llm;
  let server;
  before(async () => {
    llm = await startLlmServer(model);
    server = await startPlatformServer({ LLM_BASE_URL: llm.url, LLM_MODEL: 'judge' });
    const tool = { name: 'find_orders', command: 'node', args: [fixture, '--name=find_orders'] };
    await server.register({ ...tool, keepAlive: true, semanticErrors: 'mark' });
  });
  after(async () => {
    await server?.stop();
    await llm?.close();
  });

  /** Sends a run and lets the agent look into it. @returns the tools that it called, in their order, and what it says */
  async function investigated(thread, isPlanted) {
    const call = { method: 'POST', body: { input: ordersFound(isPlanted) } };
    const { executionId } = await server.ask('tools/find_orders/execute', call);
    await exportRun(server, { thread, isPlanted, executionId });
    // This read waits for spans that are on their way.
    await server.ask(`spans?threadIds=${thread}`);
    const transport = { type: 'http', url: `${server.url}/mcp`, headers: server.key };
    const client = await createMCPClient({ transport });
    const { steps, text } = await generateText({
      model: createOpenAICompatible({ name: 'scripted', baseURL: llm.url })('investigator'),
      tools: await client.tools(),
      prompt: `What went wrong in thread "${thread}"?`,
      stopWhen: isStepCount(10),
    });
    await client.close();
    const called = steps.flatMap(({ toolCalls }) => toolCalls.map(({ toolName }) => toolName));
    return { called: [...new Set(called)], text };
  }
  const marks = async () => (await server.ask('tool-health/find_orders')).semanticFailures;
  const called = ['fetch_spans_summary', 'get_span_content', 'analyze_with_llm'];

  it('and finds all that was planted; the tool’s health shows the silent failure', async () => {
    assert.deepEqual(await investigated('odd', true), { called, text: wentWrong });
    assert.equal(await marks(), 1);
  });

  it('and finds nothing in the same run without it', async () => {
    assert.deepEqual(await investigated('sound', false), { called, text: 'Nothing went wrong.' });
    assert.equal(await marks(), 1);
  });
});
