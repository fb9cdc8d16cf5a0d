import { heardIn } from './assistant.js';
import { type Heard, model as judge, nextStep } from './investigation.js';
import type { Json } from './json.js';
import type { AskedOfLlm } from './llm-endpoint.js';

/**
 * An assistant's model: it investigates as `nextStep` does, shows what it found on the page, marks the execution, and
 * reports. Or it makes an experiment cheaper. It remembers nothing: each answer follows from what it was sent.
 */
export function chatModel(asked: AskedOfLlm): Json {
  const { body } = asked;
  if (!body.stream) return body.tools || /"span_id"/.test(JSON.stringify(body)) ? judge(asked) : 'FR 8342.';
  const task = body.messages.findLast(({ role }: Json) => role === 'user').content;
  const heard = heardIn(body.messages);
  const next = /cheaper/.test(task) ? optimised(heard) : investigated(task, heard);
  if (typeof next === 'string') return next;
  const call = { name: next.tool, arguments: JSON.stringify(next.input) };
  const isOffered = body.tools.some((tool: Json) => tool.function.name === next.tool);
  if (!isOffered) return `I would call ${next.tool}, but I have no such tool.`;
  return { tool_calls: [{ id: 'call_0', type: 'function', function: call }] };
}

type Next = { readonly tool: string; readonly input: Json } | string;

function investigated(task: string, heard: readonly Heard[]): Next {
  const next = nextStep(task, heard);
  if (typeof next !== 'string') return next;
  const [judged] = answersOf('analyze_with_llm', heard);
  const found = judged?.analysis.span_analyses.map(({ span_id: id }: Json) => id) ?? [];
  if (found.length === 0) return next;
  if (!answersOf('highlight_spans', heard).length)
    return { tool: 'highlight_spans', input: { spanIds: found, note: 'These went wrong' } };
  const contents = answersOf('get_span_content', heard).flatMap(({ data }) => data);
  const wrong = contents.find(({ span_id: id, execution_id: execution }) => execution && found.includes(id));
  if (wrong && !answersOf('mark_semantic_failure', heard).length)
    return {
      tool: 'mark_semantic_failure',
      input: { executionId: wrong.execution_id, reason: next.split('\n')[0] },
    };
  return `${next}\n\nSee ${found.map((id: string) => `\`${id}\``).join(', ')}.`;
}

/** Reads the experiment of the page, changes its model, runs it, and compares. */
function optimised(heard: readonly Heard[]): Next {
  if (!answersOf('get_experiment_data', heard).length) return { tool: 'get_experiment_data', input: {} };
  if (!answersOf('apply_experiment_data', heard).length)
    return { tool: 'apply_experiment_data', input: { data: { model: 'gpt-4.1-mini' } } };
  if (!answersOf('run_experiment', heard).length) return { tool: 'run_experiment', input: {} };
  const [evaluated] = answersOf('evaluate_experiment_results', heard);
  if (!evaluated) return { tool: 'evaluate_experiment_results', input: {} };
  return `The new run used ${evaluated.new.model}, its cost changed by ${evaluated.comparison.cost_change_percent} %.`;
}

const answersOf = (wanted: string, heard: readonly Heard[]): Json[] =>
  heard.filter(({ tool }) => tool === wanted).map(({ answer }) => answer);
