import { isObject } from '../common/json.js';
import { messageOf } from '../common/message-of.js';
import { UpstreamFailure } from '../outbound/upstream-failure.js';
import type { Completion, LlmEndpoint } from '../llm/llm-endpoint.js';
import { AttributeLookup, memberOf } from '../records/spans/ingest/attribute-lookup.js';
import { costOf } from '../records/spans/ingest/model-prices.js';
import type { Json, RunEnd, RunResultView } from './experiments.dto.js';
import type { Experiment } from './experiments.repository.js';
import { filledRequest } from './filled-request.js';
import { TemplateError } from './templates.js';

/** Longer answers would make rows that nobody can read. */
const longestAnswer = 1_048_576;

interface Wait {
  /** Ends the run. */
  readonly signal: AbortSignal;
  readonly limitMs: number;
}

/** Asks the model with an experiment's request. @throws only what nobody expects */
export async function modelAnswer(
  endpoint: LlmEndpoint,
  experiment: Experiment,
  { signal, limitMs }: Wait,
): Promise<RunEnd> {
  const limit = AbortSignal.timeout(limitMs);
  try {
    const { body, headers } = await filledRequest(experiment);
    const own = { ...headers, 'x-label': 'experiment', ...threadOf(experiment) };
    const answer = await endpoint.complete(body, { headers: own, signal: AbortSignal.any([signal, limit]) });
    const result = resultOf(answer, body);
    if (JSON.stringify(result).length > longestAnswer)
      return failed(`The answer is over ${longestAnswer} characters`);
    return { status: 'completed', result };
  } catch (error) {
    if (signal.aborted) return failed(messageOf(signal.reason));
    if (limit.aborted) return failed(`The language model gave no answer within ${limitMs / 1_000} s`);
    if (error instanceof TemplateError) return failed(`The request cannot be made: ${error.message}`);
    if (error instanceof UpstreamFailure)
      return failed(`The language model gave no answer: ${error.message}`);
    throw error;
  }
}

const failed = (error: string): RunEnd => ({ status: 'failed', error });

/** The run belongs to the thread of the span, as far as a header can say it. */
function threadOf({ thread_id: thread }: Experiment): Record<string, string> {
  return thread !== null && /^[\x20-\x7e]{1,512}$/.test(thread) ? { 'x-thread-id': thread } : {};
}

/** An answer names its figures as vLLora's spans do; a cost that it does not tell is computed. */
function resultOf({ text, message, body, durationMs, traceId }: Completion, request: Json): RunResultView {
  const answer = new AttributeLookup(body);
  const number = (field: 'input tokens' | 'output tokens' | 'cached tokens'): number | null => {
    const told = answer.find(field);
    return typeof told === 'number' ? told : null;
  };
  const model = answer.text('model') ?? new AttributeLookup(request).text('model');
  const usage = {
    inputTokens: number('input tokens'),
    outputTokens: number('output tokens'),
    cachedTokens: number('cached tokens'),
  };
  const told = answer.find('cost') ?? memberOf(body['usage'], 'cost');
  return {
    output: text || (JSON.stringify(message['tool_calls']) ?? null),
    message,
    model,
    usage: isObject(body['usage']) ? body['usage'] : null,
    cost: typeof told === 'number' || typeof told === 'string' ? told : costOf(model, usage),
    duration_ms: Math.round(durationMs),
    trace_id: traceId ?? null,
  };
}
