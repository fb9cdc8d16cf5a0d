import { Injectable, Logger } from '@nestjs/common';
import { endsWithin } from '../common/abortable.js';
import type { CircuitPast } from './breaker/circuit-state.js';
import { ExecutionRecorder } from '../records/executions/execution-recorder.js';
import { ToolMetricsRepository } from '../records/executions/tool-metrics.repository.js';
import { CircuitTransitionsRepository } from './circuit-transitions.repository.js';

/** The newest that are read of a tool with a window of its own. */
const maxSamples = 100_000;
/** How long the start waits for the rows of a gateway that died. */
const replayTimeoutMs = 5_000;

/** The pasts of circuits from before the start, out of the database. */
@Injectable()
export class CircuitPasts {
  private readonly logger = new Logger(CircuitPasts.name);

  constructor(
    private readonly metrics: ToolMetricsRepository,
    private readonly transitions: CircuitTransitionsRepository,
    private readonly recorder: ExecutionRecorder,
  ) {}

  /**
   * The pasts of all tools, with the samples since a time.
   * @throws the database's error
   */
  async read(since: Date): Promise<Map<string, CircuitPast>> {
    await this.lastJournal();
    const [samples, transitions] = await Promise.all([
      this.metrics.getFaultSamples(since),
      this.transitions.pasts(),
    ]);
    const byTool = Map.groupBy(samples, ({ tool }) => tool);
    const tools = new Set([...transitions.keys(), ...byTool.keys()]);
    return new Map(
      [...tools].map((tool) => [
        tool,
        { ...transitions.get(tool), samples: (byTool.get(tool) ?? []).map(sampleOf) },
      ]),
    );
  }

  /**
   * One tool's samples between two times, both milliseconds since 1970.
   * @throws the database's error
   */
  async samplesOf(tool: string, since: number, until: number): Promise<CircuitPast['samples']> {
    const read = await this.metrics.getFaultSamplesOf(tool, new Date(since), maxSamples);
    return read.map(sampleOf).filter(({ at }) => at <= until);
  }

  /**
   * The last rows of a gateway that died may still be in its journal; a database that is away must not hold up the
   * start.
   */
  private async lastJournal(): Promise<void> {
    if (!(await endsWithin(replayTimeoutMs, this.recorder.replayed)))
      this.logger.warn('circuits start without what the last journal holds: it is not in the database yet');
  }
}

const sampleOf = ({ at, fault }: { at: Date; fault: boolean }) => ({ at: at.getTime(), fault });
