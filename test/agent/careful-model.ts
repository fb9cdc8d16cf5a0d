import type { AskedOfLlm, ToolCalls } from '../support/llm-endpoint.js';

interface Playbook {
  readonly playbook_id: string;
  readonly version: string;
  readonly description: string;
  readonly confidence: number;
}

interface Message {
  readonly role: string;
  readonly content?: string;
}

/** Words of an incident in which one thing leads to another: these are worth asking about. */
const complex = /cascad|cascade|several|one after the other|again and again/i;

/** For `startLlmServer`: a model that asks for playbooks where an incident is complex, and follows the best of them. */
export function carefulModel({ body }: AskedOfLlm): Conclusion | ToolCalls {
  const messages: readonly Message[] = body.messages;
  const incident = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const toolAnswer = messages.findLast(({ role }) => role === 'tool')?.content;
  if (toolAnswer !== undefined) return withContext(toolAnswer);
  if (!complex.test(incident) || !offeredTools(body).includes('get_playbooks'))
    return { recommendation: `Restart it and watch: ${incident}`, confidence: 0.8, playbook_id: null };
  const asked = { name: 'get_playbooks', arguments: JSON.stringify({ query: incident }) };
  return { tool_calls: [{ id: 'call-1', type: 'function', function: asked }] };
}

/** The names of the tools that a model was offered with a question. */
export const offeredTools = ({ tools = [] }: AskedOfLlm['body']): string[] =>
  tools.map(({ function: { name } }: { function: { name: string } }) => name);

const general = 'Restart what fails first and watch the others';

function withContext(toolAnswer: string): Conclusion {
  const { playbooks = [], fallback } = JSON.parse(toolAnswer) as {
    playbooks?: readonly Playbook[];
    fallback?: string;
  };
  const [best] = playbooks;
  if (!best) return { recommendation: general, confidence: fallback ? 0.3 : 0.5, playbook_id: null };
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
  readonly playbook_id: string | null;
}
