import { randomUUID } from 'node:crypto';
import type { Json } from './json.js';
import { refuse, startLlmServer, type ToolCalls } from './llm-endpoint.js';

export interface ScriptedModel {
  /** http://127.0.0.1:<port>: `/v1/chat/completions` as OpenAI has it, `/v1/messages` as Anthropic. */
  readonly url: string;
  /** What was refused, as the platform would: each a sentence. */
  readonly refused: readonly string[];
  close(): Promise<void>;
}

interface OfferedTool {
  readonly name: string;
  readonly description?: string;
  /** The schema of its arguments. */
  readonly schema: Json;
}

/** What a model is asked, whatever the platform. */
interface Asked {
  /** What it may call. */
  readonly tools: readonly OfferedTool[];
  /** What the user said first. */
  readonly task: string;
  /** What its calls came to; absent before it has called. */
  readonly heard?: string;
}

/**
 * Model endpoints on loopback. They remember nothing: the model chooses a tool by the words of its description, fills in
 * what its schema asks for from the task, and then repeats what it was told. A task reads `A summary of this text: "…", top 3`.
 * What the platforms refuse is refused here, with status 400.
 */
export async function startScriptedModel(): Promise<ScriptedModel> {
  const refused: string[] = [];
  const llm = await startLlmServer(({ path, body }, response) => {
    try {
      if (!path.endsWith('/messages')) return openAiTurn(body);
      return response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify(anthropicMessage(body)));
    } catch (error) {
      const { message } = error as Error;
      refused.push(message);
      return refuse(response, 400, message);
    }
  });
  return { url: new URL(llm.url).origin, refused, close: () => llm.close() };
}

/** @returns the model's next call, or what it says at last */
function next({ tools, task, heard }: Asked): { tool: string; input: Json } | string {
  if (heard !== undefined) return `I was told: ${heard}`;
  const words = wordsOf(task.replaceAll(quoted, ''));
  const fit = ({ name, description = '' }: OfferedTool): number =>
    wordsOf(`${name} ${description}`).filter((word) => words.includes(word)).length;
  const [tool] = [...tools].sort((a, b) => fit(b) - fit(a));
  if (!tool || fit(tool) === 0) return 'I have no tool for that';
  return { tool: tool.name, input: argumentsFrom(task, tool.schema) };
}

/** Short words say nothing of a tool. */
const wordsOf = (text: string): string[] => [...new Set(text.toLowerCase().match(/[a-z]{4,}/g))];

const quoted = /"([^"]*)"/g;

/**
 * A value that follows the name of its property, else for what is required the quoted texts in their order, or null where
 * the schema takes it.
 */
function argumentsFrom(task: string, { properties = {}, required = [] }: Json): Json {
  const texts = [...task.matchAll(quoted)].map(([, text]) => text);
  const outside = task.replaceAll(quoted, '');
  const input: Json = {};
  for (const [name, schema] of Object.entries<Json>(properties)) {
    const types = [schema.type ?? []].flat();
    const said = new RegExp(`\\b${name} (\\S+)`).exec(outside)?.[1];
    if (said !== undefined) input[name] = types.includes('string') ? said : JSON.parse(said);
    else if (!required.includes(name)) continue;
    else if (types.includes('null')) input[name] = null;
    else if (texts.length > 0) input[name] = texts.shift();
  }
  return input;
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

const isSchemaOfObject = (schema: Json): boolean =>
  schema?.type === 'object' && typeof (schema.properties ?? {}) === 'object';

const textOf = (content: Json): string => {
  if (typeof content === 'string') return content;
  must(Array.isArray(content), 'content must be a text or a list of parts');
  return content.map((part: Json) => part.text).join('');
};

function openAiTurn({ messages, tools = [] }: Json): string | ToolCalls {
  for (const { type, function: tool } of tools) {
    must(type === 'function' && /^[\w-]{1,64}$/.test(tool?.name), 'tools must be functions with a name');
    must(isSchemaOfObject(tool.parameters), `parameters of ${tool.name} must be a schema of an object`);
  }
  const calling = messages.findLast(({ tool_calls }: Json) => tool_calls);
  const results = messages.filter(({ role }: Json) => role === 'tool');
  const ids = (calling?.tool_calls ?? []).map(({ id }: Json) => id);
  must(
    JSON.stringify(ids) === JSON.stringify(results.map((result: Json) => result.tool_call_id)),
    'each tool call must be followed by its tool message',
  );
  const said = next({
    tools: tools.map(({ function: { name, description, parameters: schema } }: Json) => ({
      name,
      description,
      schema,
    })),
    task: textOf(messages.find(({ role }: Json) => role === 'user').content),
    ...(calling && { heard: results.map(({ content }: Json) => textOf(content)).join('\n') }),
  });
  if (typeof said === 'string') return said;
  const call = { name: said.tool, arguments: JSON.stringify(said.input) };
  return { tool_calls: [{ id: `call_${randomUUID()}`, type: 'function', function: call }] };
}

function anthropicMessage({ model, max_tokens, messages, tools = [] }: Json): object {
  must(max_tokens > 0, 'max_tokens is required');
  for (const { name, input_schema, ...more } of tools) {
    must(
      /^[\w-]{1,128}$/.test(name) && isSchemaOfObject(input_schema),
      'tools must have a name and an input_schema',
    );
    must(
      Object.keys(more).every((field) => field === 'description'),
      `unknown fields of ${name}`,
    );
  }
  const blocksOf = (message: Json): Json[] => (Array.isArray(message?.content) ? message.content : []);
  const last = messages.at(-1);
  const uses = blocksOf(messages.at(-2)).filter(({ type }) => type === 'tool_use');
  const results = blocksOf(last).filter(({ type }) => type === 'tool_result');
  must(last.role === 'user', 'the last message must be of the user');
  must(
    JSON.stringify(uses.map(({ id }) => id)) ===
      JSON.stringify(results.map(({ tool_use_id }) => tool_use_id)),
    'each tool_use must have its tool_result in the next message',
  );
  const said = next({
    tools: tools.map(({ name, description, input_schema: schema }: Json) => ({ name, description, schema })),
    task: textOf(messages[0].content),
    ...(uses.length > 0 && { heard: results.map(({ content }) => textOf(content)).join('\n') }),
  });
  return {
    id: `msg_${randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [
      typeof said === 'string'
        ? { type: 'text', text: said }
        : { type: 'tool_use', id: `toolu_${randomUUID()}`, name: said.tool, input: said.input },
    ],
    stop_reason: typeof said === 'string' ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
}
