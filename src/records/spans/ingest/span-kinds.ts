import type { CallPart, SpanKind } from '../span-row.js';
import type { AttributeLookup } from './attribute-lookup.js';

/** The kind of a span, and of a model call which part it is. */
export interface Classified {
  readonly kind: SpanKind;
  readonly callPart: CallPart | null;
}

type Names = Readonly<Record<string, SpanKind | 'outer' | 'inner'>>;

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
} as const satisfies Readonly<Record<string, Names>>;

const byName = "the span's name";

export function classify(operation: string, attributes: AttributeLookup): Classified {
  for (const [attribute, names] of Object.entries<Names>(kindNames)) {
    const value = attribute === byName ? operation : attributes.get(attribute);
    if (typeof value !== 'string') continue;
    const name = attribute === 'openinference.span.kind' ? value.toLowerCase() : value;
    const found = Object.hasOwn(names, name) ? names[name] : undefined;
    if (found) return classified(found);
  }
  return classified(guess(attributes));
}

/** A span that names a model and the tokens that it took is a call of it. */
function guess(attributes: AttributeLookup): SpanKind {
  if (attributes.find('output tokens') === undefined) return 'other';
  return attributes.find('model') === undefined ? 'other' : 'llm';
}

function classified(found: SpanKind | 'outer' | 'inner'): Classified {
  if (found === 'outer' || found === 'inner') return { kind: 'llm', callPart: found };
  return { kind: found, callPart: found === 'llm' ? 'whole' : null };
}
