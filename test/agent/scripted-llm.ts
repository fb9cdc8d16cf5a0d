import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface ChatRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content?: string }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

interface Playbook {
  readonly playbook_id: string;
  readonly version: string;
  readonly description: string;
  readonly confidence: number;
}

export interface ScriptedLlm {
  /** For `baseURL`. */
  readonly url: string;
  /** What it was asked, in order. */
  readonly requests: readonly ChatRequest[];
  close(): Promise<void>;
}

/** A chat endpoint in the place of a model. It remembers nothing: what it answers follows from the request alone. */
export async function startScriptedLlm(): Promise<ScriptedLlm> {
  const requests: ChatRequest[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const chat = JSON.parse(text) as ChatRequest;
      requests.push(chat);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(completion(chat)));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function completion(chat: ChatRequest): object {
  const message = answerTo(chat);
  const finish_reason = 'tool_calls' in message ? 'tool_calls' : 'stop';
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 0,
    model: chat.model,
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  };
}

/** Words of an incident in which one thing leads to another: these are worth asking about. */
const complex = /cascad|cascade|several|one after the other|again and again/i;

function answerTo({ messages, tools = [] }: ChatRequest): object {
  const incident = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const toolAnswer = messages.findLast(({ role }) => role === 'tool')?.content;
  if (toolAnswer !== undefined) return report(withContext(toolAnswer));
  const canAsk = tools.some(({ function: { name } }) => name === 'get_playbooks');
  if (!complex.test(incident) || !canAsk)
    return report({ recommendation: `Restart it and watch: ${incident}`, confidence: 0.8 });
  const asked = { name: 'get_playbooks', arguments: JSON.stringify({ query: incident }) };
  return { content: null, tool_calls: [{ id: 'call-1', type: 'function', function: asked }] };
}

const general = 'Restart what fails first and watch the others';

function withContext(toolAnswer: string): Conclusion {
  const { playbooks = [], fallback } = JSON.parse(toolAnswer) as {
    playbooks?: readonly Playbook[];
    fallback?: string;
  };
  const [best] = playbooks;
  if (!best) return { recommendation: general, confidence: fallback ? 0.3 : 0.5 };
  const { playbook_id, version, description, confidence } = best;
  return {
    recommendation: `Follow ${playbook_id} ${version}: ${description}`,
    confidence: 0.5 + confidence / 2,
    playbook_id,
  };
}

interface Conclusion {
  readonly recommendation: string;
  readonly confidence: number;
  readonly playbook_id?: string;
}

const report = ({
  playbook_id = null,
  ...rest
}: Omit<Conclusion, 'playbook_id'> & { playbook_id?: string | null }) => ({
  content: JSON.stringify({ ...rest, playbook_id }),
});
