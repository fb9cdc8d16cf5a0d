import { type AttributeLookup, fromJson, memberOf } from '../../records/spans/ingest/attribute-lookup.js';
import { callsIn, resultsIn, unwrapped } from '../../records/spans/ingest/message-parts.js';
import { storedLookup } from '../../records/spans/ingest/span-events.js';
import { spanTextsOf, textsOf } from '../../records/spans/ingest/span-texts.js';
import type { SpanView } from '../../records/spans/reads/trace-views.dto.js';
import type { CallResult, Json } from './experiments.dto.js';

/** The answer of a model call's span, with its figures. */
export function resultOf(span: SpanView): CallResult {
  const { outputs } = textsOf('llm', storedLookup(span.attribute ?? {}));
  const { input_tokens, output_tokens } = span;
  return {
    output: outputs.join('\n') || spanTextsOf(span).output || null,
    model: span.model,
    cost: span.cost,
    usage: { input_tokens, output_tokens },
    duration_ms: span.duration_ms,
  };
}

/** Attributes with a whole request, as vLLora and OpenInference name them. */
const requestAttributes = ['request', 'input.value'];

/** The chat request of a span in OpenAI's format; undefined if it has none or it was truncated. */
export function requestOf({ model, attribute = {} }: SpanView): Json | undefined {
  const attributes = storedLookup(attribute);
  const defaults = { ...(model !== null && { model: attributes.text('requested model') ?? model }) };
  for (const name of requestAttributes) {
    const whole = fromJson(attributes.get(name));
    if (isRequest(whole)) return { ...defaults, ...whole };
  }
  const messages = fromJson(attributes.find("a model's messages"));
  // A truncated list is not valid JSON.
  if (!Array.isArray(messages) || messages.length === 0) return undefined;
  const chat = messages.flatMap((message) => chatMessages(unwrapped(message)));
  if (!chat.every(isMessage)) return undefined;
  return { ...defaults, ...parametersIn(attributes), messages: chat, ...toolsIn(attributes) };
}

const isMessage = (value: unknown): boolean => typeof memberOf(value, 'role') === 'string';

function isRequest(value: unknown): value is Json {
  const messages = memberOf(value, 'messages');
  return Array.isArray(messages) && messages.length > 0 && messages.every(isMessage);
}

/** Attributes of a request's parameters, as OpenTelemetry names them. */
const parameterAttributes = {
  temperature: 'gen_ai.request.temperature',
  top_p: 'gen_ai.request.top_p',
  max_tokens: 'gen_ai.request.max_tokens',
};

function parametersIn(attributes: AttributeLookup): Json {
  const invocation = fromJson(attributes.get('llm.invocation_parameters'));
  const members = Object.entries(parameterAttributes).map(
    ([name, attribute]) => [name, attributes.get(attribute)] as const,
  );
  return {
    ...(typeof invocation === 'object' && invocation),
    ...Object.fromEntries(members.filter(([, value]) => typeof value === 'number')),
  };
}

/** The tools of the request in OpenAI's format. An attribute may contain each tool as text. */
function toolsIn(attributes: AttributeLookup): Json {
  const list = fromJson(attributes.find("a model's tools"));
  const tools = (Array.isArray(list) ? list : []).map((entry) => {
    const tool = fromJson(memberOf(memberOf(entry, 'tool'), 'json_schema') ?? entry);
    const openAiFunction = memberOf(tool, 'function');
    const schemas = ['parameters', 'inputSchema', 'input_schema'].map((name) => memberOf(tool, name));
    return {
      type: 'function',
      function: openAiFunction ?? {
        name: memberOf(tool, 'name'),
        description: memberOf(tool, 'description'),
        parameters: schemas.find((each) => each !== undefined),
      },
    };
  });
  return tools.length > 0 ? { tools } : {};
}

/** A message of any dialect in OpenAI's format, which has a message for each tool result. */
function chatMessages(message: unknown): unknown[] {
  const results = resultsIn(message);
  if (results.length > 0)
    return results.map(({ toolCallId: id, text }) => ({ role: 'tool', tool_call_id: id, content: text }));
  const calls = callsIn(message).map(({ id, name, arguments: given }) => {
    const text = typeof given === 'string' ? given : JSON.stringify(given ?? {});
    return { id, type: 'function', function: { name, arguments: text } };
  });
  const role = memberOf(message, 'role');
  return [{ role, content: contentOf(message), ...(calls.length > 0 && { tool_calls: calls }) }];
}

/** One text if all parts are text, else parts in OpenAI's format; null for a turn that only called tools. */
function contentOf(message: unknown): unknown {
  const content = memberOf(message, 'parts') ?? memberOf(message, 'contents') ?? memberOf(message, 'content');
  if (typeof content !== 'object' || content === null) return content ?? null;
  // Some SDKs flatten a list into an object with index keys.
  const parts = Object.values(content).flatMap(contentPart);
  if (parts.length === 0) return null;
  const texts = parts.map((part) => memberOf(part, 'text'));
  return texts.every((text) => typeof text === 'string') ? texts.join('\n') : parts;
}

/** A text or an image as a part in OpenAI's format; empty for other parts. */
function contentPart(value: unknown): unknown[] {
  const part = memberOf(value, 'message_content') ?? value;
  const text = typeof part === 'string' ? part : (memberOf(part, 'text') ?? memberOf(part, 'content'));
  if (typeof text === 'string') return [{ type: 'text', text }];
  return memberOf(part, 'image_url') === undefined ? [] : [part];
}
