import type { SpanKind } from '../span-row.js';

/** The conventions by which senders name attributes, in the order of the search. */
// prettier-ignore
export const dialects = ['vLLora', 'OpenTelemetry', 'openLLMetry', 'OpenInference', 'AI SDK', 'Langfuse', 'Pydantic AI, Logfire', 'others'] as const;
export type Dialect = (typeof dialects)[number];

/** Names of attributes by dialect, separated by spaces. */
type Names = Readonly<Partial<Record<Dialect, string>>>;

/**
 * The attributes from which each field of a span is read, by dialect. docs/agents/span-reference.md shows this table. The
 * first name with a value wins. `usage/input_tokens` is a member of the attribute `usage`, which may be JSON in a text. A
 * name that ends in `.*` is a list written as one attribute per member, like `llm.input_messages.0.message.role`.
 */
export const attributeNames = {
  thread: {
    vLLora: 'thread_id toolkeeper.thread_id',
    OpenTelemetry: 'gen_ai.conversation.id',
    openLLMetry: 'traceloop.association.properties.thread_id traceloop.association.properties.session_id',
    OpenInference: 'session.id',
    'AI SDK': 'ai.telemetry.metadata.threadId ai.telemetry.metadata.sessionId',
    Langfuse: 'langfuse.session.id',
    others:
      'gcp.vertex.agent.session_id langsmith.metadata.session_id langsmith.metadata.thread_id langsmith.metadata.conversation_id langsmith.trace.session_id mastra.metadata.threadId mastra.metadata.sessionId mlflow.trace.session wandb.thread_id',
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
    others:
      'gcp.vertex.agent.llm_request/model langsmith.metadata.ls_model_name mlflow.llm.model braintrust.metadata/model',
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
    OpenTelemetry: 'gen_ai.usage.cost gen_ai.usage.total_cost gen_ai.cost.total_cost',
    OpenInference: 'llm.cost.total',
    Langfuse: 'langfuse.observation.cost_details/total',
    'Pydantic AI, Logfire': 'operation.cost',
    others: 'mlflow.llm.cost/total_cost cost_usd',
  },
  'input tokens': {
    vLLora: 'usage/input_tokens usage/prompt_tokens',
    OpenTelemetry: 'gen_ai.usage.input_tokens gen_ai.usage.prompt_tokens',
    openLLMetry: 'llm.usage.prompt_tokens',
    OpenInference: 'llm.token_count.prompt',
    'AI SDK': 'ai.usage.inputTokens ai.usage.promptTokens',
    Langfuse:
      'langfuse.observation.usage_details/input langfuse.observation.usage_details/input_tokens langfuse.observation.usage_details/prompt_tokens',
    others:
      'langsmith.metadata.usage_metadata/input_tokens gcp.vertex.agent.llm_response/usage_metadata/prompt_token_count mlflow.chat.tokenUsage/input_tokens braintrust.metrics/prompt_tokens',
  },
  'output tokens': {
    vLLora: 'usage/output_tokens usage/completion_tokens',
    OpenTelemetry: 'gen_ai.usage.output_tokens gen_ai.usage.completion_tokens',
    openLLMetry: 'llm.usage.completion_tokens',
    OpenInference: 'llm.token_count.completion',
    'AI SDK': 'ai.usage.outputTokens ai.usage.completionTokens',
    Langfuse:
      'langfuse.observation.usage_details/output langfuse.observation.usage_details/output_tokens langfuse.observation.usage_details/completion_tokens',
    others:
      'gcp.vertex.agent.llm_response/usage_metadata/candidates_token_count langsmith.metadata.usage_metadata/output_tokens output_tokens mlflow.chat.tokenUsage/output_tokens braintrust.metrics/completion_tokens',
  },
  'total tokens': {
    vLLora: 'usage/total_tokens',
    OpenTelemetry: 'gen_ai.usage.total_tokens',
    openLLMetry: 'llm.usage.total_tokens',
    OpenInference: 'llm.token_count.total',
    'AI SDK': 'ai.usage.totalTokens ai.usage.tokens',
    Langfuse: 'langfuse.observation.usage_details/total langfuse.observation.usage_details/total_tokens',
    others:
      'langsmith.metadata.usage_metadata/total_tokens mlflow.chat.tokenUsage/total_tokens braintrust.metrics/tokens',
  },
  'input tokens without those of the cache': { others: 'input_tokens' },
  'cached tokens': {
    vLLora:
      'usage/prompt_tokens_details/cached_tokens usage/input_tokens_details/cached_tokens usage/cached_tokens usage/cache_read_input_tokens',
    OpenTelemetry:
      'gen_ai.usage.cache_read.input_tokens gen_ai.usage.cached_tokens gen_ai.usage.cache_read_tokens gen_ai.usage.input_tokens.cached gen_ai.usage.input_cached_tokens gen_ai.usage.input_token_details/cache_read gen_ai.usage.input_tokens_details/cached_tokens gen_ai.usage.prompt_tokens_details/cached_tokens gen_ai.usage.prompt_tokens_details.cached_tokens gen_ai.usage.prompt_tokens_details.cache_read',
    openLLMetry: 'gen_ai.usage.cache_read_input_tokens llm.usage.cache_read_input_tokens',
    OpenInference: 'llm.token_count.prompt_details.cache_read llm.token_count.prompt_details.cache_input',
    'AI SDK': 'ai.usage.inputTokenDetails.cacheReadTokens ai.usage.cachedInputTokens',
    Langfuse:
      'langfuse.observation.usage_details/cache_read_input_tokens langfuse.observation.usage_details/input_cached_tokens langfuse.observation.usage_details/input_cache_read langfuse.observation.usage_details/prompt_tokens_details/cached_tokens langfuse.observation.usage_details/input_tokens_details/cached_tokens',
    'Pydantic AI, Logfire':
      'gen_ai.usage.details.cache_read_tokens gen_ai.usage.details.cache_read_input_tokens gen_ai.usage.details.cached_tokens gen_ai.usage.raw/prompt_tokens_details/cached_tokens gen_ai.usage.raw/input_tokens_details/cached_tokens gen_ai.usage.raw/cache_read_input_tokens',
    others:
      'gcp.vertex.agent.llm_response/usage_metadata/cached_content_token_count langsmith.metadata.usage_metadata/input_token_details/cache_read cache_read_tokens mlflow.chat.tokenUsage/cache_read_input_tokens braintrust.metrics/prompt_cached_tokens',
  },
  'tokens written to the cache': {
    vLLora:
      'usage/prompt_tokens_details/cache_creation_tokens usage/prompt_tokens_details/cache_write_tokens usage/input_tokens_details/cache_creation_tokens usage/input_tokens_details/cache_write_tokens usage/cache_creation_input_tokens',
    OpenTelemetry:
      'gen_ai.usage.cache_creation.input_tokens gen_ai.usage.cache_write.input_tokens gen_ai.usage.cache_write_input_tokens gen_ai.usage.cache_write_tokens gen_ai.usage.cache_creation_tokens gen_ai.usage.input_token_details/cache_creation gen_ai.usage.prompt_tokens_details.cache_write',
    openLLMetry: 'gen_ai.usage.cache_creation_input_tokens llm.usage.cache_creation_input_tokens',
    OpenInference: 'llm.token_count.prompt_details.cache_write',
    'AI SDK': 'ai.usage.inputTokenDetails.cacheWriteTokens',
    Langfuse:
      'langfuse.observation.usage_details/cache_creation_input_tokens langfuse.observation.usage_details/input_cache_creation',
    'Pydantic AI, Logfire':
      'gen_ai.usage.details.cache_write_tokens gen_ai.usage.details.cache_creation_input_tokens gen_ai.usage.raw/cache_creation_input_tokens',
    others:
      'langsmith.metadata.usage_metadata/input_token_details/cache_creation cache_creation_tokens mlflow.chat.tokenUsage/cache_creation_input_tokens braintrust.metrics/prompt_cache_creation_tokens',
  },
  'reasoning tokens': {
    vLLora:
      'usage/completion_tokens_details/reasoning_tokens usage/output_tokens_details/reasoning_tokens usage/reasoning_tokens',
    OpenTelemetry:
      'gen_ai.usage.reasoning.output_tokens gen_ai.usage.reasoning_output_tokens gen_ai.usage.output_tokens.reasoning gen_ai.usage.output_reasoning_tokens gen_ai.usage.output_token_details/reasoning gen_ai.usage.output_tokens_details/reasoning_tokens gen_ai.usage.completion_tokens_details/reasoning_tokens gen_ai.usage.completion_tokens_details.reasoning_tokens gen_ai.usage.completion_tokens_details.reasoning',
    openLLMetry: 'gen_ai.usage.reasoning_tokens llm.usage.reasoning_tokens',
    OpenInference: 'llm.token_count.completion_details.reasoning',
    'AI SDK': 'ai.usage.outputTokenDetails.reasoningTokens ai.usage.reasoningTokens',
    Langfuse:
      'langfuse.observation.usage_details/output_reasoning_tokens langfuse.observation.usage_details/output_reasoning langfuse.observation.usage_details/completion_tokens_details/reasoning_tokens langfuse.observation.usage_details/output_tokens_details/reasoning_tokens',
    'Pydantic AI, Logfire':
      'gen_ai.usage.details.reasoning_tokens gen_ai.usage.raw/completion_tokens_details/reasoning_tokens gen_ai.usage.raw/output_tokens_details/reasoning_tokens',
    others:
      'gcp.vertex.agent.llm_response/usage_metadata/thoughts_token_count langsmith.metadata.usage_metadata/output_token_details/reasoning braintrust.metrics/completion_reasoning_tokens',
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
    OpenTelemetry:
      'gen_ai.tool.call.arguments gen_ai.tool.args gen_ai.tool.input gen_ai.input.messages/0/parts/0/arguments',
    openLLMetry: 'traceloop.entity.input',
    OpenInference: 'input.value',
    'AI SDK': 'ai.toolCall.args ai.toolCall.input',
    Langfuse: 'langfuse.observation.input',
    'Pydantic AI, Logfire': 'tool_arguments',
    others:
      'gcp.vertex.agent.tool_call_args gen_ai.prompt tool_input mlflow.spanInputs braintrust.input_json',
  },
  "a tool's result": {
    vLLora: 'result output response',
    OpenTelemetry: 'gen_ai.tool.call.result gen_ai.tool.output gen_ai.output.messages/0/parts/0/response',
    openLLMetry: 'traceloop.entity.output',
    OpenInference: 'output.value',
    'AI SDK': 'ai.toolCall.result ai.toolCall.output',
    Langfuse: 'langfuse.observation.output',
    'Pydantic AI, Logfire': 'tool_response',
    others:
      'gcp.vertex.agent.tool_response gen_ai.completion tool_output tool_result mlflow.spanOutputs braintrust.output_json',
  },
  "a model's messages": {
    vLLora: 'request/messages input/messages request/input request messages',
    OpenTelemetry: 'gen_ai.input.messages gen_ai.prompt',
    openLLMetry: 'gen_ai.prompt.* llm.prompts.*',
    OpenInference: 'llm.input_messages.* input.value/messages',
    'AI SDK': 'ai.prompt.messages ai.prompt',
    Langfuse: 'langfuse.observation.input',
    'Pydantic AI, Logfire':
      'request_data/messages request_data/input pydantic_ai.all_messages all_messages_events',
    others:
      'gcp.vertex.agent.llm_request/contents mastra.agent_run.input mlflow.spanInputs braintrust.input_json',
  },
  "a model's instructions": {
    vLLora: 'request/instructions request/system',
    OpenTelemetry: 'gen_ai.system_instructions',
    'AI SDK': 'ai.prompt/system',
    others: 'gcp.vertex.agent.llm_request/config/system_instruction',
  },
  "a model's tools": {
    vLLora: 'request/tools',
    OpenTelemetry: 'gen_ai.tool.definitions',
    OpenInference: 'llm.tools.*',
    'AI SDK': 'ai.prompt.tools',
    'Pydantic AI, Logfire': 'request_data/tools',
    others: 'gcp.vertex.agent.llm_request/config/tools/0/function_declarations mlflow.chat.tools',
  },
  "a model's answer": {
    vLLora: 'output response',
    OpenTelemetry: 'gen_ai.output.messages gen_ai.completion',
    openLLMetry: 'gen_ai.completion.* llm.completions.*',
    OpenInference: 'llm.output_messages.* output.value',
    'AI SDK': 'ai.response.text ai.response.object',
    Langfuse: 'langfuse.observation.output',
    'Pydantic AI, Logfire': 'response_data/message response_data/combined_chunk_content final_result',
    others:
      'gcp.vertex.agent.llm_response mastra.agent_run.output/text mlflow.spanOutputs braintrust.output_json',
  },
  "a model's tool calls": {
    vLLora: 'tool_calls',
    'AI SDK': 'ai.response.toolCalls',
    openLLMetry: 'gen_ai.completion.*',
  },
  error: {
    vLLora: 'error',
    OpenTelemetry: 'exception.message error.message otel.status_description error.type',
    'AI SDK': 'ai.response.error',
    Langfuse: 'langfuse.observation.status_message',
  },
} as const satisfies Readonly<Record<string, Names>>;

/** A field of a span that is read from its attributes. */
export type Field = keyof typeof attributeNames;

/** A kind of span; or the part of a model call that has two spans. */
export type KindOrPart = SpanKind | 'outer' | 'inner';

/**
 * The attributes that tell a span's kind, and for each kind their values, separated by spaces. docs/agents/span-reference.md
 * shows this table. Spans around a model call repeat its usage but are of kind `chain`, so that the call counts once. vLLora
 * sends two spans per model call: `outer` has cost and latency, `inner` the tokens.
 */
export const kindNames = {
  'ai.operationId': {
    llm: 'ai.generateText.doGenerate ai.streamText.doStream ai.generateObject.doGenerate ai.streamObject.doStream',
    tool: 'ai.toolCall',
    chain: 'ai.generateText ai.streamText ai.generateObject ai.streamObject',
    other: 'ai.embed ai.embed.doEmbed ai.embedMany ai.embedMany.doEmbed ai.rerank ai.rerank.doRerank',
  },
  'openinference.span.kind': {
    llm: 'llm',
    tool: 'tool',
    agent: 'agent',
    chain: 'chain',
    other: 'retriever reranker embedding guardrail evaluator prompt',
  },
  'gen_ai.operation.name': {
    llm: 'chat text_completion generate_content completion responses',
    tool: 'execute_tool',
    agent: 'create_agent invoke_agent',
    chain: 'invoke_workflow execute_event_loop_cycle agent_step',
    other: 'embeddings retrieval rerank',
  },
  'traceloop.span.kind': { tool: 'tool', agent: 'agent', chain: 'workflow task' },
  'llm.request.type': { llm: 'chat completion', other: 'embedding rerank' },
  'langfuse.observation.type': {
    llm: 'generation',
    tool: 'tool',
    agent: 'agent',
    chain: 'chain',
    other: 'retriever embedding evaluator guardrail',
  },
  'langsmith.span.kind': { llm: 'llm', tool: 'tool', chain: 'chain' },
  'mastra.span.type': {
    llm: 'model_inference',
    tool: 'tool_call mcp_tool_call',
    agent: 'agent_run',
    chain: 'model_generation workflow_run',
  },
  'mlflow.spanType': { llm: 'chat_model llm', tool: 'tool', agent: 'agent', chain: 'chain' },
  'braintrust.span_attributes/type': { llm: 'llm', tool: 'tool', chain: 'task function' },
  'span.type': { llm: 'llm_request llm', tool: 'tool', agent: 'interaction agent' },
  "the span's name": {
    outer: 'api_invoke',
    inner: 'model_call',
    tool: 'tool_call',
    agent: 'agent',
    chain: 'run task tools cloud_api_invoke openai anthropic bedrock gemini',
  },
} as const satisfies Readonly<Record<string, Readonly<Partial<Record<KindOrPart, string>>>>>;
