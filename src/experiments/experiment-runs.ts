import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { newId } from '../common/ids.js';
import type { LlmEndpoint } from '../llm/llm-endpoint.js';
import { ExperimentsRepository } from './experiments.repository.js';
import { modelAnswer } from './model-answer.js';

const limitMs = 60_000;

interface Run {
  readonly stop: AbortController;
  readonly over: Promise<void>;
}

/** Runs of experiments at this server, by experiment. */
@Injectable()
export class ExperimentRuns implements OnApplicationShutdown {
  private readonly underWay = new Map<string, Run>();

  constructor(private readonly repository: ExperimentsRepository) {}

  /**
   * Resolves when the run is over, whoever still waits for it.
   * @returns false where there is no such experiment, or it runs already
   */
  async run(project: string, id: string, endpoint: LlmEndpoint): Promise<boolean> {
    const runId = newId();
    const experiment = await this.repository.begin(project, id, runId);
    if (!experiment) return false;
    const stop = new AbortController();
    const over = modelAnswer(endpoint, experiment, { signal: stop.signal, limitMs }).then((end) =>
      this.repository.end(id, runId, end),
    );
    const run = { stop, over };
    this.underWay.set(id, run);
    try {
      await over;
    } finally {
      if (this.underWay.get(id) === run) this.underWay.delete(id);
    }
    return true;
  }

  /** Ends a run whose experiment says so already. One of another server goes on to its end, which changes nothing. */
  stop(id: string): void {
    this.underWay.get(id)?.stop.abort(new Error('The run was cancelled'));
  }

  async onApplicationShutdown(): Promise<void> {
    const runs = [...this.underWay.values()];
    for (const { stop } of runs) stop.abort(new Error('The server stopped before the run was over'));
    await Promise.allSettled(runs.map(({ over }) => over));
  }
}
