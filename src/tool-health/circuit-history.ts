import { Inject, Injectable } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { CircuitEvents, type CircuitTransition } from './circuit-events.js';
import { CircuitTransitionsRepository } from './circuit-transitions.repository.js';
import { WriteBehind } from '../common/write-behind.js';

/** What happens to the circuits, as long as the metrics of its time are kept. */
@Injectable()
export class CircuitHistory extends WriteBehind<CircuitTransition> {
  constructor(
    @Inject(APP_CONFIG) { recorder }: AppConfig,
    events: CircuitEvents,
    private readonly repository: CircuitTransitionsRepository,
  ) {
    super('circuit history', events, repository, recorder.retentionDays);
  }

  /**
   * The newest of one tool, oldest first.
   * @throws the database's error
   */
  async newest(tool: string, limit: number): Promise<CircuitTransition[]> {
    await this.flush();
    return this.repository.newest(tool, limit);
  }
}
