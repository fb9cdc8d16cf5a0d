import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock.js';
import { Problem } from '../common/errors.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import type { ExecutionEvent } from '../tool-metrics/execution-event.js';
import { ExecutionEvents } from '../tool-metrics/execution-events.js';
import { ToolMetricsRepository } from '../tool-metrics/tool-metrics.repository.js';
import {
  type Admission,
  CircuitBreaker,
  type CircuitSettings,
  type CircuitTransition,
} from './circuit-breaker.js';
import type { CircuitView } from './circuit.dto.js';
import { viewOfCircuit } from './circuit-view.js';
import { KnownTools } from './known-tools.js';

/** A source of numbers from 0 to 1. */
export const RANDOM = Symbol('Random');

interface Tracked {
  readonly breaker: CircuitBreaker;
  /** Oldest first. */
  readonly history: CircuitTransition[];
}

const maxHistory = 50;
/** Circuits of tools that are gone are kept up to this number in all. */
const maxTracked = 10_000;

/** The circuits of all tools: in memory, fed by what the recorder says, filled from the last window at start. */
@Injectable()
export class CircuitBreakers implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(CircuitBreakers.name);
  private readonly circuits = new Map<string, Tracked>();
  private readonly settings: CircuitSettings;
  private unsubscribe: (() => void) | undefined;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(RANDOM) private readonly random: () => number,
    private readonly events: ExecutionEvents,
    private readonly metrics: ToolMetricsRepository,
    private readonly knownTools: KnownTools,
  ) {
    this.settings = config.circuit;
  }

  onModuleInit(): void {
    this.unsubscribe = this.events.subscribe((event) => this.take(event));
  }

  /** A history that cannot be read leaves the circuits closed and does not stop the start. */
  async onApplicationBootstrap(): Promise<void> {
    try {
      await this.rehydrate();
    } catch (error) {
      this.logger.error(error, 'circuits start without the last window: it could not be read');
    }
  }

  onApplicationShutdown(): void {
    this.unsubscribe?.();
  }

  /** Asked by the guard for each call; on the hot path. */
  admit(tool: string, executionId: string): Admission {
    return this.track(tool).breaker.admit(executionId);
  }

  /** @throws Problem `not_found` for a tool that is neither registered nor was seen since the start */
  circuitOf(tool: string): CircuitView {
    const { breaker, history } = this.existing(tool);
    return viewOfCircuit(tool, breaker, history);
  }

  /** Refuses every call of the tool until its circuit is closed or reset. @throws Problem `not_found` */
  open(tool: string, reason = 'Opened by hand'): CircuitView {
    this.existing(tool).breaker.openByHand(reason);
    return this.circuitOf(tool);
  }

  /** @throws Problem `not_found` */
  close(tool: string, reason = 'Closed by hand'): CircuitView {
    this.existing(tool).breaker.closeByHand(reason);
    return this.circuitOf(tool);
  }

  /** Closes the circuit and forgets its openings. @throws Problem `not_found` */
  reset(tool: string, reason = 'Reset by hand'): CircuitView {
    this.existing(tool).breaker.reset(reason);
    return this.circuitOf(tool);
  }

  private take(event: ExecutionEvent): void {
    if (event.test || isNobodysResult(event)) return;
    this.track(event.tool).breaker.record({ executionId: event.executionId, fault: event.fault });
  }

  private async rehydrate(): Promise<void> {
    const samples = await this.metrics.getFaultSamples(new Date(this.clock.now() - this.settings.windowMs));
    const byTool = new Map<string, { at: number; fault: boolean }[]>();
    for (const { tool, at, fault } of samples) {
      const own = byTool.get(tool) ?? [];
      own.push({ at: at.getTime(), fault });
      byTool.set(tool, own);
    }
    for (const [tool, own] of byTool) this.track(tool).breaker.restore(own);
  }

  private existing(tool: string): Tracked {
    if (this.circuits.has(tool) || this.knownTools.has(tool)) return this.track(tool);
    throw new Problem('not_found', `There is no circuit of a tool named ${JSON.stringify(tool)}`);
  }

  private track(tool: string): Tracked {
    const known = this.circuits.get(tool);
    if (known) return known;
    if (this.circuits.size >= maxTracked) this.forgetGoneTools();
    const history: CircuitTransition[] = [];
    const breaker = new CircuitBreaker(this.settings, this.clock, this.random, (transition) => {
      history.push(transition);
      if (history.length > maxHistory) history.shift();
      this.log(tool, transition);
    });
    const tracked = { breaker, history };
    this.circuits.set(tool, tracked);
    return tracked;
  }

  private forgetGoneTools(): void {
    for (const tool of this.circuits.keys()) {
      if (!this.knownTools.has(tool)) this.circuits.delete(tool);
    }
  }

  private log(tool: string, { from, to, reason }: CircuitTransition): void {
    const entry = { event: `circuit_${to}`, tool, from, reason };
    if (to === 'open') this.logger.warn(entry, 'circuit opened');
    else this.logger.log(entry, 'circuit changed');
  }
}

/** Neither success nor fault of the tool: the caller left, the gateway died, or what the tool depends on is down. */
function isNobodysResult({ errorType, fault }: ExecutionEvent): boolean {
  // What fails otherwise without fault was answered -32602 by a tool that is alive: a success for its circuit.
  return !fault && errorType !== undefined && errorType !== 'tool_error';
}
