import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Problem } from '../common/errors.js';
import { newId } from '../common/ids.js';
import type { LlmEndpoint } from '../llm/llm-endpoint.js';
import { type Experiment, ExperimentsRepository } from './experiments.repository.js';
import { modelAnswer } from './model-answer.js';

const limitMs = 60_000;
/** Each holds a connection to the endpoint, which others need as well. */
const mostAtOnce = 4;

interface Run {
  readonly stop: AbortController;
  readonly over: Promise<void>;
}

/** Runs of experiments at this server, by their ids. */
@Injectable()
export class ExperimentRuns implements OnApplicationShutdown {
  private readonly underWay = new Map<string, Run>();
  /** Those that only begin among them. */
  private runs = 0;

  constructor(private readonly repository: ExperimentsRepository) {}

  /**
   * Resolves when the run is over, whoever still waits for it.
   * @returns false where there is no such experiment, or it runs already
   * @throws Problem `rate_limited` while as many run as may
   */
  async run(project: string, id: string, endpoint: LlmEndpoint): Promise<boolean> {
    if (this.runs >= mostAtOnce)
      throw new Problem(
        'rate_limited',
        `${mostAtOnce} experiments run at this server, as many as may at a time`,
        {
          retryAfterMs: 5_000,
        },
      );
    this.runs += 1;
    try {
      const runId = newId();
      const experiment = await this.repository.begin(project, id, runId);
      if (experiment) await this.toItsEnd(runId, experiment, endpoint);
      return experiment !== undefined;
    } finally {
      this.runs -= 1;
    }
  }

  /** Ends a run whose experiment says so already. One of another server goes on to its end, which changes nothing. */
  stop(runId: string): void {
    this.underWay.get(runId)?.stop.abort(new Error('The run was cancelled'));
  }

  async onApplicationShutdown(): Promise<void> {
    const runs = [...this.underWay.values()];
    for (const { stop } of runs) stop.abort(new Error('The server stopped before the run was over'));
    await Promise.allSettled(runs.map(({ over }) => over));
  }

  private async toItsEnd(runId: string, experiment: Experiment, endpoint: LlmEndpoint): Promise<void> {
    const stop = new AbortController();
    const over = modelAnswer(endpoint, experiment, { signal: stop.signal, limitMs }).then((end) =>
      this.repository.end(experiment.id, runId, end),
    );
    this.underWay.set(runId, { stop, over });
    try {
      await over;
    } finally {
      this.underWay.delete(runId);
    }
  }
}
