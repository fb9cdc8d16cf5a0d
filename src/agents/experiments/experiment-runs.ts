import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { CallerSlots } from '../../base/common/caller-slots.js';
import { newId } from '../../base/common/ids.js';
import type { Completion, LlmEndpoint } from '../llm/llm.module.js';
import { type Experiment, ExperimentsRepository } from './experiments.repository.js';
import { isObject } from '../../base/common/json.js';
import { messageOf } from '../../base/common/message-of.js';
import { UpstreamFailure } from '../../base/outbound/upstream-failure.js';
import { AttributeLookup, memberOf } from '../../records/spans/ingest/attribute-lookup.js';
import { costOf } from '../../records/spans/ingest/model-prices.js';
import type { Json, RunEnd, RunResultView } from './experiments.dto.js';
import { filledRequest, TemplateError } from './filled-request.js';

const limitMs = 60_000;
/** Max concurrent runs, each of which holds a connection to the endpoint. */
const maxRuns = 4;
const maxRunsOfCaller = 3;

interface Run {
  readonly stop: AbortController;
  readonly over: Promise<void>;
}

/** Runs experiments at this server. */
@Injectable()
export class ExperimentRuns implements OnApplicationShutdown {
  private readonly current = new Map<string, Run>();
  private readonly slots = new CallerSlots(maxRunsOfCaller, maxRuns);

  constructor(private readonly repository: ExperimentsRepository) {}

  /**
   * Runs an experiment to its end, even if its caller leaves.
   * @returns false if there is no such experiment, or it runs already
   * @throws Problem `rate_limited` if too many run
   */
  async run(project: string, id: string, endpoint: LlmEndpoint, caller: string): Promise<boolean> {
    const release = this.slots.claim(caller, 'runs of experiments');
    try {
      const runId = newId();
      const experiment = await this.repository.begin(project, id, runId);
      if (experiment) await this.complete(runId, experiment, endpoint);
      return experiment !== undefined;
    } finally {
      release();
    }
  }

  /** Aborts the local run of a cancelled experiment. A run on another server finishes without effect. */
  stop(runId: string): void {
    this.current.get(runId)?.stop.abort(new Error('The run was cancelled'));
  }

  async onApplicationShutdown(): Promise<void> {
    const runs = [...this.current.values()];
    for (const { stop } of runs) stop.abort(new Error('The server stopped before the run was over'));
    await Promise.allSettled(runs.map(({ over }) => over));
  }

  private async complete(runId: string, experiment: Experiment, endpoint: LlmEndpoint): Promise<void> {
    const stop = new AbortController();
    const over = modelAnswer(endpoint, experiment, { signal: stop.signal, limitMs }).then((end) =>
      this.repository.end(experiment.id, runId, end),
    );
    this.current.set(runId, { stop, over });
    try {
      await over;
    } finally {
      this.current.delete(runId);
    }
  }
}

/** Sends an experiment's request to the model. @param signal cancels the run @throws unexpected errors only */
export async function modelAnswer(
  endpoint: LlmEndpoint,
  experiment: Experiment,
  { signal, limitMs }: { readonly signal: AbortSignal; readonly limitMs: number },
): Promise<RunEnd> {
  const limit = AbortSignal.timeout(limitMs);
  try {
    const { body, headers } = await filledRequest(experiment);
    const own = { ...headers, 'x-label': 'experiment', ...threadOf(experiment) };
    const answer = await endpoint.complete(body, { headers: own, signal: AbortSignal.any([signal, limit]) });
    return { status: 'completed', result: resultOf(answer, body) };
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

/** Assigns the run to the thread of the span, if its id fits into a header. */
function threadOf({ thread_id: thread }: Experiment): Record<string, string> {
  return thread !== null && /^[\x20-\x7e]{1,512}$/.test(thread) ? { 'x-thread-id': thread } : {};
}

/** Reads the figures of an answer, named as in vLLora's spans; a missing cost is computed. */
function resultOf({ text, message, body, durationMs, traceId }: Completion, request: Json): RunResultView {
  const answer = new AttributeLookup(body);
  const number = (field: 'input tokens' | 'output tokens' | 'cached tokens'): number | null => {
    const value = answer.find(field);
    return typeof value === 'number' ? Math.max(0, value) : null;
  };
  const model = answer.text('model') ?? new AttributeLookup(request).text('model');
  const usage = {
    inputTokens: number('input tokens'),
    outputTokens: number('output tokens'),
    cachedTokens: number('cached tokens'),
  };
  const value = answer.find('cost') ?? memberOf(body['usage'], 'cost');
  const isCost = typeof value === 'string' || (typeof value === 'number' && value >= 0);
  return {
    output: text || (JSON.stringify(message['tool_calls']) ?? null),
    message,
    model,
    usage: isObject(body['usage']) ? body['usage'] : null,
    cost: isCost ? value : costOf(model, usage),
    duration_ms: Math.round(durationMs),
    trace_id: traceId ?? null,
  };
}
