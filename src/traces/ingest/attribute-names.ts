/** The dialects that spans are sent in, in the order in which their names are looked for. */
export const dialects = ['vLLora', 'OpenTelemetry', 'OpenInference', 'AI SDK'] as const;
export type Dialect = (typeof dialects)[number];

type Names = Readonly<Partial<Record<Dialect, readonly string[]>>>;

/**
 * The names of each figure of a span, by dialect: the one table of them, which docs/traces.md shows. The first name that
 * has a value wins. `usage/input_tokens` is a member of the attribute `usage`, which may be JSON in text. A name that ends
 * in `.*` is a list written flat: `llm.input_messages.0.message.role`.
 */
export const attributeNames = {
  thread: {
    vLLora: ['thread_id', 'toolkeeper.thread_id'],
    OpenTelemetry: ['gen_ai.conversation.id'],
    OpenInference: ['session.id'],
    'AI SDK': ['ai.telemetry.metadata.threadId'],
  },
  run: { vLLora: ['run_id', 'toolkeeper.run_id'], 'AI SDK': ['ai.telemetry.metadata.runId'] },
  label: { vLLora: ['label', 'toolkeeper.label'], 'AI SDK': ['ai.telemetry.functionId'] },
  execution: { vLLora: ['toolkeeper.execution_id'] },
  model: {
    vLLora: ['model_name', 'model/name', 'model'],
    OpenTelemetry: ['gen_ai.response.model', 'gen_ai.request.model'],
    OpenInference: ['llm.model_name', 'embedding.model_name'],
    'AI SDK': ['ai.response.model', 'ai.model.id'],
  },
  'requested model': {
    vLLora: ['request/model'],
    OpenTelemetry: ['gen_ai.request.model'],
    OpenInference: ['llm.invocation_parameters/model'],
    'AI SDK': ['ai.model.id'],
  },
  cost: {
    vLLora: ['cost/cost', 'cost'],
    OpenTelemetry: ['gen_ai.usage.cost'],
    OpenInference: ['llm.cost.total'],
  },
  'input tokens': {
    vLLora: ['usage/input_tokens', 'usage/prompt_tokens'],
    OpenTelemetry: ['gen_ai.usage.input_tokens', 'gen_ai.usage.prompt_tokens'],
    OpenInference: ['llm.token_count.prompt'],
    'AI SDK': ['ai.usage.inputTokens', 'ai.usage.promptTokens'],
  },
  'output tokens': {
    vLLora: ['usage/output_tokens', 'usage/completion_tokens'],
    OpenTelemetry: ['gen_ai.usage.output_tokens', 'gen_ai.usage.completion_tokens'],
    OpenInference: ['llm.token_count.completion'],
    'AI SDK': ['ai.usage.outputTokens', 'ai.usage.completionTokens'],
  },
  'cached tokens': {
    vLLora: [
      'usage/prompt_tokens_details/cached_tokens',
      'usage/input_tokens_details/cached_tokens',
      'usage/cached_tokens',
    ],
    OpenTelemetry: ['gen_ai.usage.cache_read.input_tokens', 'gen_ai.usage.cached_tokens'],
    OpenInference: ['llm.token_count.prompt_details.cache_read'],
    'AI SDK': ['ai.usage.cachedInputTokens', 'ai.usage.inputTokenDetails.cacheReadTokens'],
  },
  'reasoning tokens': {
    vLLora: [
      'usage/completion_tokens_details/reasoning_tokens',
      'usage/output_tokens_details/reasoning_tokens',
      'usage/reasoning_tokens',
    ],
    OpenTelemetry: ['gen_ai.usage.reasoning.output_tokens', 'gen_ai.usage.reasoning_tokens'],
    OpenInference: ['llm.token_count.completion_details.reasoning'],
    'AI SDK': ['ai.usage.reasoningTokens', 'ai.usage.outputTokenDetails.reasoningTokens'],
  },
  'time to first token, milliseconds (over a million: microseconds)': {
    vLLora: ['ttft'],
    'AI SDK': ['ai.response.msToFirstChunk', 'ai.stream.msToFirstChunk'],
  },
  'time to first token, seconds': { OpenTelemetry: ['gen_ai.response.time_to_first_chunk'] },
  tool: {
    vLLora: ['tool_name', 'tool.name'],
    OpenTelemetry: ['gen_ai.tool.name', 'traceloop.entity.name'],
    OpenInference: ['tool.name'],
    'AI SDK': ['ai.toolCall.name'],
  },
  "a tool call's id": {
    vLLora: ['tool_call_id', 'tool_calls/0/id'],
    OpenTelemetry: ['gen_ai.tool.call.id'],
    OpenInference: ['tool_call.id', 'tool.id'],
    'AI SDK': ['ai.toolCall.id'],
  },
  "a tool's arguments": {
    vLLora: ['arguments', 'tool_calls/0/function/arguments', 'input'],
    OpenTelemetry: ['gen_ai.tool.call.arguments', 'traceloop.entity.input'],
    OpenInference: ['input.value'],
    'AI SDK': ['ai.toolCall.args', 'ai.toolCall.input'],
  },
  "a tool's result": {
    vLLora: ['result', 'output', 'response'],
    OpenTelemetry: ['gen_ai.tool.call.result', 'traceloop.entity.output'],
    OpenInference: ['output.value'],
    'AI SDK': ['ai.toolCall.result', 'ai.toolCall.output'],
  },
  "a model's messages": {
    vLLora: ['request/messages', 'input/messages', 'request/input', 'request', 'messages'],
    OpenTelemetry: ['gen_ai.input.messages', 'gen_ai.prompt.*', 'gen_ai.prompt'],
    OpenInference: ['llm.input_messages.*', 'input.value/messages'],
    'AI SDK': ['ai.prompt.messages', 'ai.prompt'],
  },
  "a model's tools": {
    vLLora: ['request/tools'],
    OpenTelemetry: ['gen_ai.tool.definitions'],
    OpenInference: ['llm.tools.*'],
    'AI SDK': ['ai.prompt.tools'],
  },
  "a model's answer": {
    vLLora: ['output', 'response'],
    OpenTelemetry: ['gen_ai.output.messages', 'gen_ai.completion.*', 'gen_ai.completion'],
    OpenInference: ['llm.output_messages.*', 'output.value'],
    'AI SDK': ['ai.response.text', 'ai.response.object'],
  },
  "a model's tool calls": {
    vLLora: ['tool_calls'],
    'AI SDK': ['ai.response.toolCalls'],
  },
  error: {
    vLLora: ['error'],
    OpenTelemetry: ['exception.message', 'error.message', 'error.type'],
    'AI SDK': ['ai.response.error'],
  },
} as const satisfies Readonly<Record<string, Names>>;

export type Field = keyof typeof attributeNames;
