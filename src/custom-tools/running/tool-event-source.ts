import { Injectable } from '@nestjs/common';
import { ToolEvents } from '../../common/tool-events.js';
import { ConditionEvents } from './condition-events.js';
import { CustomToolRuntimes, type RuntimeEvent } from './custom-tool-runtimes.js';
import { CustomToolsRepository } from '../entity/custom-tools.repository.js';

/** Says to the whole server what happens to custom tools. */
@Injectable()
export class ToolEventSource {
  private readonly conditions: ConditionEvents;

  constructor(
    private readonly runtimes: CustomToolRuntimes,
    repository: CustomToolsRepository,
    events: ToolEvents,
  ) {
    this.conditions = new ConditionEvents((event) => events.say(event));
    runtimes.events.subscribe((event) => this.on(event));
    repository.conditions.subscribe((condition) => this.conditions.written(condition));
  }

  private on(event: RuntimeEvent): void {
    const backend = this.runtimes.get(event.pool)?.backend;
    // Pools of trial runs and of replaced configurations say nothing about the tool.
    if (!backend || !('pool' in backend) || backend.pool !== event.source) return;
    if (event.type === 'failed') this.conditions.failed(event.pool, event.error);
    if (event.type === 'recovered') this.conditions.recovered(event.pool);
    if (event.type === 'terminate' && event.reason === 'crash') {
      const { exitCode, signal } = event;
      this.conditions.crashed(event.pool, { exitCode, signal });
    }
  }
}
