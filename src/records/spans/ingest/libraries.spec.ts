import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson, sha256 } from '../../../base/common/canonical-json.js';
import { projectRoot } from '../../../base/common/project.js';
import type { MessageView } from '../reads/trace-views.dto.js';
import type { Attributes } from './attribute-lookup.js';
import { spansInJson } from './otlp-json.js';
import { normaliseSpan } from './normalise-span.js';
import { messagesOf } from './span-messages.js';
import { spanContentsOf } from './span-texts.js';

/*
 * Spans that libraries exported while a small agent asked a scripted model: it calls the tool disk_usage once, then ends.
 * The first call has 210 input tokens (128 of them cached) and 20 output tokens (8 of reasoning), the second one 260 (192)
 * and 15 (4).
 */
const folder = join(projectRoot(), 'test', 'fixtures', 'spans');
const scope = { project: 'default', keyId: null, now: Date.parse('2026-01-23T11:00:00Z'), retentionDays: 30 };

/** One line for each message: who said it, or the call of a tool with its result. */
const lineOf = ({ role, text, calls }: MessageView): string[] => [
  ...(text ? [`${role}: ${text}`] : []),
  ...calls.map(
    ({ name, input, result }) =>
      `${name}(${input.replaceAll(/\s+/g, '')})${result === null ? '' : ` = ${result}`}`,
  ),
];

const spansOf = (library: string) =>
  spansInJson(JSON.parse(readFileSync(join(folder, `${library}.json`), 'utf8'))).spans.map((read) => {
    const row = normaliseSpan(read(), scope);
    const texts = spanContentsOf({ kind: row.kind, attribute: JSON.parse(row.attributes) as Attributes });
    return { ...row, ...texts, messages: messagesOf(row.kind, texts).flatMap(lineOf) };
  });

const argumentsHash = sha256(canonicalJson({ path: '/data' }));
const asked = 'disk_usage({"path":"/data"})';
const answer = 'assistant: The disk /data is 97 % full.';
const prompt = ['system: You look after disks.', 'user: How full is the disk /data?'];

interface Expected {
  readonly thread?: string | null;
  /** Differences of the two model calls. */
  readonly llm?: object;
  readonly calls?: readonly object[];
  readonly tool?: object;
}

const common = { status: 'success', errorMessage: null };
const figures = [
  { inputTokens: 210, outputTokens: 20, cachedTokens: 128, reasoningTokens: 8, cost: 0.000565 },
  { inputTokens: 260, outputTokens: 15, cachedTokens: 192, reasoningTokens: 4, cost: 0.00056 },
];
const said = [
  { toolCalls: [{ name: 'disk_usage', hash: argumentsHash }], messages: [...prompt, asked] },
  { toolCalls: null, messages: [...prompt, `${asked} = 97 % used`, answer] },
];

/** @param spans kind and name of each, with bars between them */
function expectedOf(spans: string, { thread = null, llm, calls = [], tool }: Expected): object[] {
  let call = 0;
  return spans.split('|').map((span) => {
    const [kind = ''] = span.split(' ');
    const row = { ...common, threadId: thread, kind, operation: span.slice(kind.length + 1) };
    if (kind === 'tool') {
      const [input, output] = ['{"path":"/data"}', '97 % used'];
      return { ...row, toolName: 'disk_usage', argumentsHash, input, output, ...tool };
    }
    if (kind !== 'llm') return row;
    const models = { model: 'gpt-4o-2024-11-20', requestModel: 'gpt-4o', costSource: 'computed' };
    const own = { ...row, ...models, ...figures[call % 2], ...said[call % 2], ...llm, ...calls[call] };
    call += 1;
    return own;
  });
}

const thread = 'thread-1';
const noReasoning = { reasoningTokens: null };
const noCache = { ...noReasoning, cachedTokens: null };
const fullPrice = [{ cost: 0.000725 }, { cost: 0.0008 }];
const requested = { model: 'gpt-4o' };
const answered = { requestModel: 'gpt-4o-2024-11-20' };
const gemini = { model: 'gemini-2.5-flash', requestModel: 'gemini-2.5-flash', cost: expect.any(Number) };
const adkPrompt = [
  'system: You look after disks.\n\nYou are an agent. Your internal name is "keeper".',
  'user: How full is the disk /data?',
  asked,
];
const anthropic = {
  ...{ model: 'claude-sonnet-4-5-20250929', requestModel: 'claude-sonnet-4-5-20250929' },
  ...noReasoning,
};
const crew = [
  'system: You are keeper. You look after disks.\nYour personal goal is: You look after disks.',
  expect.stringContaining('Current Task: How full is the disk /data?'),
];

const libraries: Record<string, [string, Expected]> = {
  'agent-framework': [
    'agent invoke_agent keeper|llm chat gpt-4o|tool execute_tool disk_usage|llm chat gpt-4o',
    {},
  ],
  'ai-sdk-7': [
    'agent invoke_agent gpt-4o|chain step 1|llm chat gpt-4o|tool execute_tool disk_usage|chain step 2|llm chat gpt-4o',
    { llm: noReasoning },
  ],
  'ai-sdk-legacy': [
    'chain ai.generateText|llm ai.generateText.doGenerate|tool ai.toolCall|llm ai.generateText.doGenerate',
    {},
  ],
  autogen: [
    'agent create_agent keeper|agent invoke_agent keeper|tool execute_tool disk_usage',
    { tool: { argumentsHash: null, input: '', output: '' } },
  ],
  'google-adk-1': [
    'other invocation|llm call_llm|tool execute_tool disk_usage|llm call_llm',
    {
      llm: { ...gemini, threadId: thread },
      calls: [
        { outputTokens: 12, messages: adkPrompt },
        { outputTokens: 11, messages: [...adkPrompt, 'tool: {"result":"97 % used"}', answer] },
      ],
      tool: { output: '{"result":"97 % used"}' },
    },
  ],
  'google-adk-2': [
    'chain invoke_workflow keeper|agent invoke_agent keeper|llm generate_content gemini-2.5-flash|tool execute_tool disk_usage|llm generate_content gemini-2.5-flash',
    {
      thread,
      llm: gemini,
      calls: [
        { messages: adkPrompt },
        { messages: [...adkPrompt.slice(0, 2), `${asked} = {"result":"97 % used"}`, answer] },
      ],
      tool: { threadId: null, output: '{"result":"97 % used"}' },
    },
  ],
  langfuse: [
    'agent keeper|llm OpenAI-generation|tool disk_usage|llm OpenAI-generation',
    { thread, llm: answered },
  ],
  'langsmith-langgraph': [
    'chain LangGraph|llm ChatOpenAI|tool disk_usage|llm ChatOpenAI',
    { thread, llm: requested },
  ],
  litellm: [
    'llm litellm_request|other raw_gen_ai_request',
    { llm: { ...noCache, costSource: 'reported', cost: expect.closeTo(0.000565, 9) } },
  ],
  'logfire-openai': [
    'other keeper|llm Chat Completion with {request_data[model]!r}|llm Chat Completion with {request_data[model]!r}',
    {},
  ],
  mastra: [
    'agent invoke_agent keeper|chain model_generation gpt-4o|chain agent_step keeper|llm chat gpt-4o|other model_chunk keeper|tool execute_tool disk_usage|other model_chunk keeper|chain agent_step keeper|llm chat gpt-4o|other model_chunk keeper',
    {
      thread,
      // The exporter leaves the messages at the step around the call.
      calls: [{ toolCalls: null, messages: [] }, { messages: [answer] }],
      tool: { output: '{"used":"97 %"}' },
    },
  ],
  'openinference-crewai': [
    'chain Crew_00000000-0000-4000-8000-000000000001.kickoff|agent keeper._execute_core|tool disk_usage.run|llm ChatCompletion|llm ChatCompletion',
    {
      llm: answered,
      calls: [
        { requestModel: 'gpt-4o', messages: [...crew, asked] },
        { requestModel: 'gpt-4o', messages: [...crew, `${asked} = 97 % used`, answer] },
      ],
    },
  ],
  'openinference-langgraph': [
    'chain LangGraph|llm ChatOpenAI|tool disk_usage|llm ChatOpenAI',
    { thread, tool: { argumentsHash: sha256('"/data"'), input: '/data' } },
  ],
  'openinference-llama-index': [
    'chain FunctionAgent.run|llm OpenAILike.achat|tool FunctionTool.acall|llm OpenAILike.achat',
    {
      llm: requested,
      tool: {
        argumentsHash: expect.any(String),
        input: expect.stringContaining('{"path":"/data"}'),
        output: expect.stringContaining('"raw_output":"97 % used"'),
      },
    },
  ],
  'openinference-openai-agents': [
    'agent Agent workflow|chain Agent workflow|agent Keeper|llm response|tool disk_usage|llm response',
    { llm: answered },
  ],
  openlit: [
    'other keeper|llm chat gpt-4o|llm chat gpt-4o',
    {
      llm: { ...noReasoning, cost: 0, costSource: 'reported' },
      calls: [{}, { messages: [...prompt, 'tool: 97 % used', answer] }],
    },
  ],
  openllmetry: ['chain keeper.workflow|tool disk_usage.tool|llm openai.chat|llm openai.chat', { thread }],
  'opentelemetry-openai': ['llm chat gpt-4o|llm chat gpt-4o', { llm: noCache, calls: fullPrice }],
  'pydantic-ai': [
    'agent invoke_agent a|llm chat gpt-4o|tool execute_tool disk_usage|llm chat gpt-4o',
    { thread, llm: { costSource: 'reported' } },
  ],
  // Its 40 tokens written to the cache cost more; the SDK's own spans stand below those of the library.
  'pydantic-ai-anthropic': [
    'agent invoke_agent a|llm chat claude-sonnet-4-5-20250929|tool execute_tool disk_usage|llm chat claude-sonnet-4-5-20250929|llm anthropic.messages.create|llm anthropic.messages.create',
    {
      thread,
      llm: anthropic,
      calls: [
        { cost: 0.0006144, costSource: 'reported' },
        { cost: 0.0005166, costSource: 'reported' },
        { cost: 0.0006144, toolCalls: null, messages: [] },
        { cost: 0.0005166, messages: [] },
      ],
    },
  ],
  'semantic-kernel': [
    'agent invoke_agent keeper|other AutoFunctionInvocationLoop|llm chat gpt-4o|llm chat gpt-4o|tool execute_tool Disks-disk_usage',
    {
      llm: { ...noCache, ...requested, toolCalls: null, messages: [] },
      calls: fullPrice,
      tool: { toolName: 'Disks-disk_usage' },
    },
  ],
  strands: [
    'agent invoke_agent Strands Agents|llm chat|tool execute_tool disk_usage|llm chat',
    { thread, llm: { ...requested, ...noReasoning }, tool: { output: '[{"text":"97 % used"}]' } },
  ],
  'strands-latest-conventions': [
    'agent invoke_agent Strands Agents|llm chat|tool execute_tool disk_usage|llm chat',
    { thread, llm: { ...requested, ...noReasoning }, tool: { output: '[{"text":"97 % used"}]' } },
  ],
};

it('has an expectation for each fixture', () => {
  const files = readdirSync(folder).map((file) => file.replace('.json', ''));
  expect(Object.keys(libraries).sort()).toEqual(files.sort());
});

it.each(Object.entries(libraries))('%s', (library, [spans, expected]) => {
  expect(spansOf(library)).toMatchObject(expectedOf(spans, expected));
});
