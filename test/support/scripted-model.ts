import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json } from './json.js';

export interface ScriptedModel {
  /** http://127.0.0.1:<port>: `/v1/chat/completions` as OpenAI has it, `/v1/messages` as Anthropic. */
  readonly url: string;
  /** What was refused, as the platform would: each a sentence. */
  readonly refused: readonly string[];
  close(): Promise<void>;
}

/** What a model is asked, whatever the platform. */
interface Asked {
  /** The names of the tools that it may call. */
  readonly tools: readonly string[];
  /** What the user said first. */
  readonly task: string;
  /** What its calls came to; absent before it has called. */
  readonly heard?: string;
}

/**
 * Model endpoints on loopback. They remember nothing: a task reads `Call <tool> with <JSON>`, the model calls that tool if
 * it was offered, and then repeats what it was told. What the platforms refuse is refused here, with status 400.
 */
export async function startScriptedModel(): Promise<ScriptedModel> {
  const refused: string[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const answer = request.url?.endsWith('/messages') ? anthropicMessage : openAiCompletion;
      response.setHeader('content-type', 'application/json');
      try {
        response.end(JSON.stringify(answer(JSON.parse(text))));
      } catch (error) {
        const { message } = error as Error;
        refused.push(message);
        response.statusCode = 400;
        response.end(JSON.stringify({ error: { type: 'invalid_request_error', message } }));
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refused,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** @returns the model's next call, or what it says at last */
function next({ tools, task, heard }: Asked): { tool: string; input: Json } | string {
  if (heard !== undefined) return `I was told: ${heard}`;
  const [, tool = '', input = ''] = /^Call (\S+) with (.*)$/s.exec(task) ?? [];
  return tools.includes(tool) ? { tool, input: JSON.parse(input) } : `I have no tool ${tool}`;
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

function openAiCompletion({ model, messages, tools = [] }: Json): object {
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
    tools: tools.map((tool: Json) => tool.function.name),
    task: textOf(messages.find(({ role }: Json) => role === 'user').content),
    ...(calling && { heard: results.map(({ content }: Json) => textOf(content)).join('\n') }),
  });
  const message =
    typeof said === 'string'
      ? { content: said }
      : {
          content: null,
          tool_calls: [
            {
              id: 'call_1',
              type: 'function',
              function: { name: said.tool, arguments: JSON.stringify(said.input) },
            },
          ],
        };
  const finish_reason = typeof said === 'string' ? 'stop' : 'tool_calls';
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 0,
    model,
    choices: [{ index: 0, message: { role: 'assistant', refusal: null, ...message }, finish_reason }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
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
    tools: tools.map(({ name }: Json) => name),
    task: textOf(messages[0].content),
    ...(uses.length > 0 && { heard: results.map(({ content }) => textOf(content)).join('\n') }),
  });
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model,
    content: [
      typeof said === 'string'
        ? { type: 'text', text: said }
        : { type: 'tool_use', id: 'toolu_1', name: said.tool, input: said.input },
    ],
    stop_reason: typeof said === 'string' ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
}
