import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { CallerSlots } from '../../base/common/caller-slots.js';
import { newId } from '../../base/common/ids.js';
import { type Completion, type LlmEndpoint, threadHeader } from '../llm/llm.module.js';
import { type Experiment, ExperimentsRepository } from './experiments.repository.js';
import { isObject } from '../../base/common/json.js';
import { messageOf } from '../../base/common/message-of.js';
import { UpstreamFailure } from '../../base/outbound/upstream-failure.js';
import { AttributeLookup, memberOf } from '../../records/spans/ingest/attribute-lookup.js';
import { costOf } from '../../records/spans/ingest/model-prices.js';
import type { Json, RunEnd, RunResultView } from './experiments.dto.js';
import { filledRequest, TemplateError } from './filled-request.js';

const runTimeoutMs = 60_000;
/** Max concurrent runs at this server, each of which holds a connection to the endpoint. */
const maxRuns = 4;
const maxRunsOfCaller = 3;

interface Run {
  readonly aborter: AbortController;
  /** Settles when the end of the run is stored. */
  readonly finished: Promise<void>;
}

/** Runs experiments at this server. */
@Injectable()
export class ExperimentRuns implements OnApplicationShutdown {
  /** Runs in progress, by their ids. */
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
      if (experiment) await this.askModel(runId, experiment, endpoint);
      return experiment !== undefined;
    } finally {
      release();
    }
  }

  /** Aborts a cancelled run at this server. A run at another server goes on, but its end is not stored. */
  stop(runId: string): void {
    this.current.get(runId)?.aborter.abort(new Error('The run was cancelled'));
  }

  async onApplicationShutdown(): Promise<void> {
    const runs = [...this.current.values()];
    for (const { aborter } of runs) aborter.abort(new Error('The server stopped before the run was over'));
    await Promise.allSettled(runs.map(({ finished }) => finished));
  }

  /** Asks the model, and stores the end of the run. */
  private async askModel(runId: string, experiment: Experiment, endpoint: LlmEndpoint): Promise<void> {
    const aborter = new AbortController();
    const limits = { signal: aborter.signal, timeoutMs: runTimeoutMs };
    const finished = modelAnswer(endpoint, experiment, limits).then((end) =>
      this.repository.end(experiment.id, runId, end),
    );
    this.current.set(runId, { aborter, finished });
    try {
      await finished;
    } finally {
      this.current.delete(runId);
    }
  }
}

/** Sends an experiment's request to the model. @returns the answer, or why there is none @throws unexpected errors only */
export async function modelAnswer(
  endpoint: LlmEndpoint,
  experiment: Experiment,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<RunEnd> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const { body, headers } = await filledRequest(experiment);
    const answer = await endpoint.complete(body, {
      headers: { ...headers, 'x-label': 'experiment', ...threadHeader(experiment.thread_id) },
      signal: AbortSignal.any([signal, timeout]),
    });
    return { status: 'completed', result: resultOf(answer, body) };
  } catch (error) {
    if (signal.aborted) return failed(messageOf(signal.reason));
    if (timeout.aborted) return failed(`The language model gave no answer within ${timeoutMs / 1_000} s`);
    if (error instanceof TemplateError) return failed(`The request cannot be made: ${error.message}`);
    if (error instanceof UpstreamFailure)
      return failed(`The language model gave no answer: ${error.message}`);
    throw error;
  }
}

/** The end of a run without an answer. */
const failed = (error: string): RunEnd => ({ status: 'failed', error });

/** Reads the figures of an answer, named as in vLLora's spans; a missing cost is computed. */
function resultOf({ text, message, body, durationMs, traceId }: Completion, request: Json): RunResultView {
  const answer = new AttributeLookup(body);
  const tokens = (field: 'input tokens' | 'output tokens' | 'cached tokens'): number | null => {
    const value = answer.find(field);
    return typeof value === 'number' ? Math.max(0, value) : null;
  };
  const model = answer.text('model') ?? new AttributeLookup(request).text('model');
  const usage = {
    inputTokens: tokens('input tokens'),
    outputTokens: tokens('output tokens'),
    cachedTokens: tokens('cached tokens'),
  };
  const reportedCost = answer.find('cost') ?? memberOf(body['usage'], 'cost');
  const hasCost = typeof reportedCost === 'string' || (typeof reportedCost === 'number' && reportedCost >= 0);
  return {
    output: text || (JSON.stringify(message['tool_calls']) ?? null),
    message,
    model,
    usage: isObject(body['usage']) ? body['usage'] : null,
    cost: hasCost ? reportedCost : costOf(model, usage),
    duration_ms: Math.round(durationMs),
    trace_id: traceId ?? null,
  };
}
