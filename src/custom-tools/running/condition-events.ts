import { Injectable } from '@nestjs/common';
import { type ToolEvent, ToolEvents } from '../../streams/tool-events.js';
import { CustomToolsRepository, type WrittenCondition } from '../entity/custom-tools.repository.js';
import { RunningTools, type RuntimeEvent } from './running-tools.js';

/** What is known to be wrong with a tool; one that is well has nothing. */
type Ailment = 'degraded' | 'crashed' | 'failed';
type Said = Omit<ToolEvent, 'timestamp'>;

/**
 * Tells changes of a tool's condition from what only repeats it: a tool that crashes with every call has crashed once,
 * until it has recovered.
 */
export class ConditionEvents {
  private readonly ailments = new Map<string, Ailment>();

  constructor(private readonly say: (event: Said) => void) {}

  /** A process of the tool ended by itself. */
  crashed(tool: string, how: { readonly exitCode: number | null; readonly signal: string | null }): void {
    if (this.is(tool, 'crashed', 'failed')) return;
    const end = how.signal === null ? `with exit code ${how.exitCode}` : `by ${how.signal}`;
    this.fell(tool, 'crashed', `A process of it ended ${end}`, { ...how });
  }

  /** It does not start any more. */
  failed(tool: string, message: string): void {
    if (!this.is(tool, 'failed')) this.fell(tool, 'failed', message, { status: 'error' });
  }

  /** Its processes start again. */
  recovered(tool: string): void {
    const from = this.ailments.get(tool);
    if (!this.ailments.delete(tool)) return;
    this.say({ type: 'tool.recovered', tool, message: 'It works again', data: { from } });
  }

  /** What was written down about it, whether it is new or not. */
  written({ name, status, healthStatus, errorMessage }: WrittenCondition): void {
    if (status === 'inactive') this.ailments.delete(name);
    else if (status === 'error') this.failed(name, errorMessage ?? 'It cannot be started');
    else if (healthStatus === 'healthy') this.recovered(name);
    else if (healthStatus === 'degraded' || healthStatus === 'unhealthy')
      this.ails(name, healthStatus, errorMessage ?? `It says of itself that it is ${healthStatus}`);
  }

  /** The tool is gone. */
  forget(tool: string): void {
    this.ailments.delete(tool);
  }

  private ails(tool: string, healthStatus: string, message: string): void {
    if (this.ailments.has(tool)) return;
    this.fell(tool, 'degraded', message, { healthStatus });
  }

  private is(tool: string, ...ailments: Ailment[]): boolean {
    const now = this.ailments.get(tool);
    return now !== undefined && ailments.includes(now);
  }

  private fell(tool: string, to: Ailment, message: string, data: Said['data']): void {
    this.ailments.set(tool, to);
    this.say({ type: `tool.${to}`, tool, message, data });
  }
}

/** Says to the whole server what happens to custom tools. */
@Injectable()
export class ToolEventSource {
  private readonly conditions: ConditionEvents;

  constructor(
    private readonly running: RunningTools,
    repository: CustomToolsRepository,
    events: ToolEvents,
  ) {
    this.conditions = new ConditionEvents((event) => events.say(event));
    running.events.subscribe((event) => this.on(event));
    repository.conditions.subscribe((condition) => this.conditions.written(condition));
    running.deletions.subscribe((tool) => this.conditions.forget(tool));
  }

  private on(event: RuntimeEvent): void {
    // Pools of trial runs and of replaced configurations say nothing about the tool.
    if (!this.running.runsOn(event.pool, event.source)) return;
    if (event.type === 'failed') this.conditions.failed(event.pool, event.error);
    if (event.type === 'recovered') this.conditions.recovered(event.pool);
    if (event.type === 'terminate' && event.reason === 'crash') {
      const { exitCode, signal } = event;
      this.conditions.crashed(event.pool, { exitCode, signal });
    }
  }
}
