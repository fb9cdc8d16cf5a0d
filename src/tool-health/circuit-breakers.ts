import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { CircuitBreaker } from '../common/circuit-breaker.js';
import type {
  Admission,
  CircuitChange,
  CircuitKind,
  CircuitPast,
  CircuitSettings,
} from '../common/circuit-state.js';
import { CLOCK, type Clock } from '../common/clock.js';
import { Problem } from '../common/errors.js';
import { newId } from '../common/ids.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { CircuitMetrics, type CircuitSampleOfTool } from '../observability/circuit-metrics.js';
import type { ExecutionEvent } from '../tool-metrics/execution-event.js';
import { ExecutionEvents } from '../tool-metrics/execution-events.js';
import { ExecutionRecorder } from '../tool-metrics/execution-recorder.js';
import { ToolMetricsRepository } from '../tool-metrics/tool-metrics.repository.js';
import { CircuitEvents, type CircuitTransition } from './circuit-events.js';
import { CircuitTransitionsRepository } from './circuit-transitions.repository.js';
import { KnownTools } from './known-tools.js';

/** A source of numbers from 0 to 1. */
export const RANDOM = Symbol('Random');

/** One tool's circuit and what has happened to it since the start. */
export interface TrackedCircuit {
  readonly breaker: CircuitBreaker;
  /** Oldest first; the last 50. */
  readonly history: CircuitTransition[];
  readonly transitions: Record<CircuitKind, number>;
}

const maxHistory = 50;
/** Circuits of tools that are gone are kept up to this number in all. */
const maxTracked = 10_000;
/** The newest that are read of a tool with a window of its own. */
const maxSamples = 100_000;
const minuteMs = 60_000;
/** How long the start waits for the rows of a gateway that died. */
const replayPatienceMs = 5_000;

/** The circuits of all tools: in memory, fed by what the recorder says, filled from what the database knows at start. */
@Injectable()
export class CircuitBreakers implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(CircuitBreakers.name);
  private readonly circuits = new Map<string, TrackedCircuit>();
  private readonly settings: CircuitSettings;
  private readonly subscriptions: (() => void)[] = [];
  /** What happened before the start to tools that are not registered yet. */
  private readonly pasts = new Map<string, CircuitPast>();
  /** Tools whose past has been looked for. */
  private readonly judged = new Set<string>();
  /** Milliseconds since 1970; 0: what was before is not yet read. */
  private startedAt = 0;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(RANDOM) private readonly random: () => number,
    private readonly executions: ExecutionEvents,
    private readonly events: CircuitEvents,
    private readonly metrics: ToolMetricsRepository,
    private readonly transitions: CircuitTransitionsRepository,
    private readonly knownTools: KnownTools,
    private readonly recorder: ExecutionRecorder,
    observed: CircuitMetrics,
  ) {
    this.settings = config.circuit;
    observed.observe(() => this.samples());
  }

  onModuleInit(): void {
    this.subscriptions.push(
      this.executions.subscribe((event) => this.take(event)),
      this.knownTools.changes.subscribe(() => this.adjust()),
    );
  }

  /** A history that cannot be read leaves the circuits closed and does not stop the start. */
  async onApplicationBootstrap(): Promise<void> {
    try {
      await this.lastJournal();
      await this.rehydrate();
    } catch (error) {
      this.logger.error(error, 'circuits start without their past: it could not be read');
    }
  }

  onApplicationShutdown(): void {
    for (const end of this.subscriptions) end();
  }

  /** Asked by the guard for each call; on the hot path. */
  admit(tool: string, executionId: string): Admission {
    return this.track(tool).breaker.admit(executionId);
  }

  /** @throws Problem `not_found` for a tool that is not registered, was not seen since the start and is not held open by hand */
  find(tool: string): TrackedCircuit {
    // It may be disabled since before the start: what was held open by hand can still be closed.
    const past = this.pasts.get(tool);
    if (past?.held) void this.restore(tool, past);
    if (this.circuits.has(tool) || this.knownTools.has(tool)) return this.track(tool);
    throw new Problem('not_found', `There is no circuit of a tool named ${JSON.stringify(tool)}`);
  }

  /** Looks at every circuit, so that what time has brought about is told. */
  look(): void {
    for (const { breaker } of this.circuits.values()) breaker.current();
  }

  private take(event: ExecutionEvent): void {
    if (event.test || isNobodysResult(event)) return;
    this.track(event.tool).breaker.record({ executionId: event.executionId, fault: event.fault });
  }

  /** What a gateway that died left in the journal belongs to the past, too; a database that is away shall not hold the start up. */
  private async lastJournal(): Promise<void> {
    const controller = new AbortController();
    const timeUp = delay(replayPatienceMs, true, { signal: controller.signal, ref: false });
    const late = await Promise.race([this.recorder.replayed, timeUp]);
    controller.abort();
    await timeUp.catch(() => undefined);
    if (late)
      this.logger.warn('circuits start without what the last journal holds: it is not in the database yet');
  }

  private async rehydrate(): Promise<void> {
    const now = this.clock.now();
    const since = new Date(now - 2 * this.settings.windowMs);
    const [samples, pasts] = await Promise.all([
      this.metrics.getFaultSamples(since),
      this.transitions.pasts(),
    ]);
    const byTool = new Map<string, { at: number; fault: boolean }[]>();
    for (const tool of pasts.keys()) byTool.set(tool, []);
    for (const { tool, at, fault } of samples) {
      const own = byTool.get(tool) ?? [];
      own.push({ at: at.getTime(), fault });
      byTool.set(tool, own);
    }
    for (const [tool, own] of byTool) this.pasts.set(tool, { ...pasts.get(tool), samples: own });
    this.startedAt = now;
    await this.restoreKnown();
  }

  /** A tool's past is judged by its own thresholds: it waits until the tool is registered. */
  private async restoreKnown(): Promise<void> {
    if (this.startedAt === 0) return;
    const fresh = this.knownTools.names().filter((tool) => !this.judged.has(tool));
    await Promise.all(fresh.map((tool) => this.restore(tool, this.pasts.get(tool))));
  }

  /** At once, but where more of the past has to be read. */
  private async restore(tool: string, past: CircuitPast | undefined): Promise<void> {
    this.judged.add(tool);
    this.pasts.delete(tool);
    const { windowMs } = this.settingsOf(tool);
    const isWide = windowMs > this.settings.windowMs;
    if (isWide && !past?.held) await this.restoreWide(tool, past ?? { samples: [] }, windowMs);
    else if (past) this.track(tool).breaker.restore(past);
  }

  /** What was read of all tools is too short for a tool with a longer window than the configured one. */
  private async restoreWide(tool: string, past: CircuitPast, windowMs: number): Promise<void> {
    let { samples } = past;
    try {
      const since = new Date(this.startedAt - 2 * windowMs);
      const read = await this.metrics.getFaultSamplesOf(tool, since, maxSamples);
      // What came since the start has been taken as it came.
      const before = read.filter(({ at }) => at.getTime() <= this.startedAt);
      samples = before.map(({ at, fault }) => ({ at: at.getTime(), fault }));
    } catch (error) {
      this.logger.error({ tool, error }, 'a circuit starts with a shorter past: it could not be read');
    }
    this.track(tool).breaker.restore({ ...past, samples });
  }

  /** A tool's own error threshold and window stand in for the configured ones. */
  private settingsOf(tool: string): CircuitSettings {
    const { errorThreshold, windowMinutes } = this.knownTools.ownThresholdsOf(tool);
    const { failures, windowMs } = this.settings;
    return {
      ...this.settings,
      failures: errorThreshold ?? failures,
      windowMs: windowMinutes === undefined ? windowMs : windowMinutes * minuteMs,
    };
  }

  private adjust(): void {
    void this.restoreKnown();
    for (const [tool, { breaker }] of this.circuits) {
      const [before, now] = [breaker.rules(), this.settingsOf(tool)];
      if (before.failures !== now.failures || before.windowMs !== now.windowMs) breaker.adjust(now);
    }
  }

  private track(tool: string): TrackedCircuit {
    const known = this.circuits.get(tool);
    if (known) return known;
    if (this.circuits.size >= maxTracked) this.forgetGoneTools();
    const breaker = new CircuitBreaker(this.settingsOf(tool), this.clock, this.random, (change) =>
      this.tell(tool, change),
    );
    const tracked = { breaker, history: [], transitions: { closed: 0, open: 0, half_open: 0 } };
    this.circuits.set(tool, tracked);
    return tracked;
  }

  private forgetGoneTools(): void {
    for (const [tool, { breaker }] of this.circuits) {
      if (!this.knownTools.has(tool) && !breaker.isHeld()) this.circuits.delete(tool);
    }
    for (const tool of this.judged) if (!this.knownTools.has(tool)) this.judged.delete(tool);
  }

  private tell(tool: string, change: CircuitChange): void {
    const transition = { id: newId(change.at), tool, ...change };
    const tracked = this.circuits.get(tool);
    if (tracked) {
      tracked.transitions[change.to] += 1;
      tracked.history.push(transition);
      if (tracked.history.length > maxHistory) tracked.history.shift();
    }
    this.log(transition);
    this.events.emit(transition);
  }

  private log({ tool, from, to, reason, by }: CircuitTransition): void {
    const entry = { event: `circuit_${to}`, tool, from, reason, ...(by !== null && { by }) };
    if (to === 'open') this.logger.warn(entry, 'circuit opened');
    else this.logger.log(entry, 'circuit changed');
  }

  /** Of registered tools only: the label's values are bounded by them. */
  private samples(): CircuitSampleOfTool[] {
    return this.knownTools.names().map((tool) => {
      const tracked = this.circuits.get(tool);
      return {
        tool,
        state: tracked?.breaker.current().kind ?? 'closed',
        transitions: tracked?.transitions ?? {},
      };
    });
  }
}

/** Neither success nor fault of the tool: the caller left, the gateway died, or what the tool depends on is down. */
function isNobodysResult({ errorType, fault }: ExecutionEvent): boolean {
  // What fails otherwise without fault was answered -32602 by a tool that is alive: a success for its circuit.
  return !fault && errorType !== undefined && errorType !== 'tool_error';
}
