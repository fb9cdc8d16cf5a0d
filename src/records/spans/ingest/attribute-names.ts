import type { SpanKind } from '../span-row.js';

/** The dialects that spans are sent in, in the order in which their names are looked for. */
// prettier-ignore
export const dialects = ['vLLora', 'OpenTelemetry', 'openLLMetry', 'OpenInference', 'AI SDK', 'Langfuse', 'Pydantic AI, Logfire'] as const;
export type Dialect = (typeof dialects)[number];

/** Names with spaces between them. */
type Names = Readonly<Partial<Record<Dialect, string>>>;

/**
 * The names of each figure of a span, by dialect: the one table of them, which docs/agents/span-reference.md shows. The first name that
 * has a value wins. `usage/input_tokens` is a member of the attribute `usage`, which may be JSON in text. A name that ends
 * in `.*` is a list written flat: `llm.input_messages.0.message.role`.
 */
export const attributeNames = {
  thread: {
    vLLora: 'thread_id toolkeeper.thread_id',
    OpenTelemetry: 'gen_ai.conversation.id',
    openLLMetry: 'traceloop.association.properties.thread_id traceloop.association.properties.session_id',
    OpenInference: 'session.id',
    'AI SDK': 'ai.telemetry.metadata.threadId ai.telemetry.metadata.sessionId',
    Langfuse: 'langfuse.session.id',
  },
  run: { vLLora: 'run_id toolkeeper.run_id', 'AI SDK': 'ai.telemetry.metadata.runId' },
  label: { vLLora: 'label toolkeeper.label', 'AI SDK': 'ai.telemetry.functionId' },
  execution: { vLLora: 'toolkeeper.execution_id' },
  model: {
    vLLora: 'model_name model/name model',
    OpenTelemetry: 'gen_ai.response.model gen_ai.request.model',
    openLLMetry: 'llm.response.model llm.request.model',
    OpenInference: 'llm.response.model_name llm.model_name embedding.model_name',
    'AI SDK': 'ai.response.model ai.model.id',
    Langfuse: 'langfuse.observation.model.name',
    'Pydantic AI, Logfire': 'response_data/model request_data/model',
  },
  'requested model': {
    vLLora: 'request/model',
    OpenTelemetry: 'gen_ai.request.model',
    openLLMetry: 'llm.request.model',
    OpenInference: 'llm.request.model_name llm.invocation_parameters/model',
    'AI SDK': 'ai.model.id',
    'Pydantic AI, Logfire': 'request_data/model',
  },
  cost: {
    vLLora: 'cost/cost cost',
    OpenTelemetry: 'gen_ai.usage.cost',
    OpenInference: 'llm.cost.total',
    Langfuse: 'langfuse.observation.cost_details/total',
    'Pydantic AI, Logfire': 'operation.cost',
  },
  'input tokens': {
    vLLora: 'usage/input_tokens usage/prompt_tokens',
    OpenTelemetry: 'gen_ai.usage.input_tokens gen_ai.usage.prompt_tokens',
    openLLMetry: 'llm.usage.prompt_tokens',
    OpenInference: 'llm.token_count.prompt',
    'AI SDK': 'ai.usage.inputTokens ai.usage.promptTokens',
    Langfuse:
      'langfuse.observation.usage_details/input langfuse.observation.usage_details/input_tokens langfuse.observation.usage_details/prompt_tokens',
  },
  'output tokens': {
    vLLora: 'usage/output_tokens usage/completion_tokens',
    OpenTelemetry: 'gen_ai.usage.output_tokens gen_ai.usage.completion_tokens',
    openLLMetry: 'llm.usage.completion_tokens',
    OpenInference: 'llm.token_count.completion',
    'AI SDK': 'ai.usage.outputTokens ai.usage.completionTokens',
    Langfuse:
      'langfuse.observation.usage_details/output langfuse.observation.usage_details/output_tokens langfuse.observation.usage_details/completion_tokens',
  },
  'cached tokens': {
    vLLora:
      'usage/prompt_tokens_details/cached_tokens usage/input_tokens_details/cached_tokens usage/cached_tokens usage/cache_read_input_tokens',
    OpenTelemetry: 'gen_ai.usage.cache_read.input_tokens gen_ai.usage.cached_tokens',
    openLLMetry: 'gen_ai.usage.cache_read_input_tokens llm.usage.cache_read_input_tokens',
    OpenInference: 'llm.token_count.prompt_details.cache_read llm.token_count.prompt_details.cache_input',
    'AI SDK': 'ai.usage.inputTokenDetails.cacheReadTokens ai.usage.cachedInputTokens',
    Langfuse:
      'langfuse.observation.usage_details/cache_read_input_tokens langfuse.observation.usage_details/input_cached_tokens langfuse.observation.usage_details/input_cache_read langfuse.observation.usage_details/prompt_tokens_details/cached_tokens langfuse.observation.usage_details/input_tokens_details/cached_tokens',
    'Pydantic AI, Logfire':
      'gen_ai.usage.details.cache_read_tokens gen_ai.usage.details.cache_read_input_tokens gen_ai.usage.details.cached_tokens',
  },
  'tokens written to the cache': {
    vLLora:
      'usage/prompt_tokens_details/cache_creation_tokens usage/prompt_tokens_details/cache_write_tokens usage/input_tokens_details/cache_creation_tokens usage/input_tokens_details/cache_write_tokens usage/cache_creation_input_tokens',
    OpenTelemetry: 'gen_ai.usage.cache_creation.input_tokens',
    openLLMetry: 'gen_ai.usage.cache_creation_input_tokens llm.usage.cache_creation_input_tokens',
    OpenInference: 'llm.token_count.prompt_details.cache_write',
    'AI SDK': 'ai.usage.inputTokenDetails.cacheWriteTokens',
    Langfuse:
      'langfuse.observation.usage_details/cache_creation_input_tokens langfuse.observation.usage_details/input_cache_creation',
    'Pydantic AI, Logfire':
      'gen_ai.usage.details.cache_write_tokens gen_ai.usage.details.cache_creation_input_tokens',
  },
  'reasoning tokens': {
    vLLora:
      'usage/completion_tokens_details/reasoning_tokens usage/output_tokens_details/reasoning_tokens usage/reasoning_tokens',
    OpenTelemetry: 'gen_ai.usage.reasoning.output_tokens',
    openLLMetry: 'gen_ai.usage.reasoning_tokens llm.usage.reasoning_tokens',
    OpenInference: 'llm.token_count.completion_details.reasoning',
    'AI SDK': 'ai.usage.outputTokenDetails.reasoningTokens ai.usage.reasoningTokens',
    Langfuse:
      'langfuse.observation.usage_details/output_reasoning_tokens langfuse.observation.usage_details/output_reasoning langfuse.observation.usage_details/completion_tokens_details/reasoning_tokens langfuse.observation.usage_details/output_tokens_details/reasoning_tokens',
    'Pydantic AI, Logfire': 'gen_ai.usage.details.reasoning_tokens',
  },
  'time to first token, milliseconds (over a million: microseconds)': {
    vLLora: 'ttft',
    'AI SDK': 'ai.response.msToFirstChunk ai.stream.msToFirstChunk',
  },
  'time to first token, seconds': { OpenTelemetry: 'gen_ai.response.time_to_first_chunk' },
  tool: {
    vLLora: 'tool_name tool.name',
    OpenTelemetry: 'gen_ai.tool.name',
    openLLMetry: 'traceloop.entity.name',
    OpenInference: 'tool.name',
    'AI SDK': 'ai.toolCall.name',
  },
  "a tool call's id": {
    vLLora: 'tool_call_id tool_calls/0/id',
    OpenTelemetry: 'gen_ai.tool.call.id',
    OpenInference: 'tool_call.id tool.id',
    'AI SDK': 'ai.toolCall.id',
  },
  "a tool's arguments": {
    vLLora: 'arguments tool_calls/0/function/arguments input',
    OpenTelemetry: 'gen_ai.tool.call.arguments',
    openLLMetry: 'traceloop.entity.input',
    OpenInference: 'input.value',
    'AI SDK': 'ai.toolCall.args ai.toolCall.input',
    Langfuse: 'langfuse.observation.input',
    'Pydantic AI, Logfire': 'tool_arguments',
  },
  "a tool's result": {
    vLLora: 'result output response',
    OpenTelemetry: 'gen_ai.tool.call.result',
    openLLMetry: 'traceloop.entity.output',
    OpenInference: 'output.value',
    'AI SDK': 'ai.toolCall.result ai.toolCall.output',
    Langfuse: 'langfuse.observation.output',
    'Pydantic AI, Logfire': 'tool_response',
  },
  "a model's messages": {
    vLLora: 'request/messages input/messages request/input request messages',
    OpenTelemetry: 'gen_ai.input.messages gen_ai.prompt',
    openLLMetry: 'gen_ai.prompt.* llm.prompts.*',
    OpenInference: 'llm.input_messages.* input.value/messages',
    'AI SDK': 'ai.prompt.messages ai.prompt',
    Langfuse: 'langfuse.observation.input',
    'Pydantic AI, Logfire': 'request_data/messages request_data/input',
  },
  "a model's tools": {
    vLLora: 'request/tools',
    OpenTelemetry: 'gen_ai.tool.definitions',
    OpenInference: 'llm.tools.*',
    'AI SDK': 'ai.prompt.tools',
    'Pydantic AI, Logfire': 'request_data/tools',
  },
  "a model's answer": {
    vLLora: 'output response',
    OpenTelemetry: 'gen_ai.output.messages gen_ai.completion',
    openLLMetry: 'gen_ai.completion.* llm.completions.*',
    OpenInference: 'llm.output_messages.* output.value',
    'AI SDK': 'ai.response.text ai.response.object',
    Langfuse: 'langfuse.observation.output',
    'Pydantic AI, Logfire': 'response_data/message response_data/combined_chunk_content',
  },
  "a model's tool calls": {
    vLLora: 'tool_calls',
    'AI SDK': 'ai.response.toolCalls',
  },
  error: {
    vLLora: 'error',
    OpenTelemetry: 'exception.message error.message otel.status_description error.type',
    'AI SDK': 'ai.response.error',
    Langfuse: 'langfuse.observation.status_message',
  },
} as const satisfies Readonly<Record<string, Names>>;

export type Field = keyof typeof attributeNames;

/** A kind, or the part of a model call that has two spans. */
export type KindOrPart = SpanKind | 'outer' | 'inner';

/**
 * The kinds by attribute and value; docs/agents/span-reference.md shows them. Spans around a model call repeat its
 * usage and are no call themselves, so that it counts once: of vLLora's two spans `outer` has cost and latency,
 * `inner` the tokens.
 */
export const kindNames = {
  'ai.operationId': {
    'ai.generateText.doGenerate': 'llm',
    'ai.streamText.doStream': 'llm',
    'ai.generateObject.doGenerate': 'llm',
    'ai.streamObject.doStream': 'llm',
    'ai.toolCall': 'tool',
    'ai.generateText': 'chain',
    'ai.streamText': 'chain',
    'ai.generateObject': 'chain',
    'ai.streamObject': 'chain',
    'ai.embed': 'other',
    'ai.embed.doEmbed': 'other',
    'ai.embedMany': 'other',
    'ai.embedMany.doEmbed': 'other',
    'ai.rerank': 'other',
    'ai.rerank.doRerank': 'other',
  },
  'openinference.span.kind': {
    llm: 'llm',
    tool: 'tool',
    agent: 'agent',
    chain: 'chain',
    retriever: 'other',
    reranker: 'other',
    embedding: 'other',
    guardrail: 'other',
    evaluator: 'other',
    prompt: 'other',
  },
  'gen_ai.operation.name': {
    chat: 'llm',
    text_completion: 'llm',
    generate_content: 'llm',
    execute_tool: 'tool',
    create_agent: 'agent',
    invoke_agent: 'agent',
    invoke_workflow: 'chain',
    agent_step: 'chain',
    embeddings: 'other',
    retrieval: 'other',
    rerank: 'other',
  },
  'traceloop.span.kind': { tool: 'tool', agent: 'agent', workflow: 'chain', task: 'chain' },
  'llm.request.type': { chat: 'llm', completion: 'llm', embedding: 'other', rerank: 'other' },
  'langfuse.observation.type': {
    generation: 'llm',
    tool: 'tool',
    agent: 'agent',
    chain: 'chain',
    retriever: 'other',
    embedding: 'other',
    evaluator: 'other',
    guardrail: 'other',
  },
  "the span's name": {
    api_invoke: 'outer',
    model_call: 'inner',
    tool_call: 'tool',
    agent: 'agent',
    run: 'chain',
    task: 'chain',
    tools: 'chain',
    cloud_api_invoke: 'chain',
    openai: 'chain',
    anthropic: 'chain',
    bedrock: 'chain',
    gemini: 'chain',
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, KindOrPart>>>>;
