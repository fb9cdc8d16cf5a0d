import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { CircuitBreaker } from '../../base/outbound/breaker/circuit-breaker.js';
import type {
  CircuitChange,
  CircuitDecision,
  CircuitKind,
  CircuitOverride,
  CircuitPast,
  CircuitSettings,
} from '../../base/outbound/breaker/circuit-state.js';
import type { WindowCounts } from '../../base/outbound/breaker/sample-ring.js';
import { CLOCK, type Clock, minuteMs } from '../../base/common/clock.js';
import { Problem } from '../../base/common/errors.js';
import { idOf, newId } from '../../base/common/ids.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { CallEvents, type ExecutedCall } from '../../web/contract/call-events.js';
import { CircuitEvents, CircuitHistories, type CircuitTransition } from './circuit-transitions.repository.js';
import { FleetCircuits } from './fleet-circuits.js';
import { KnownTools } from './known-tools.js';

/** One tool's circuit, with its history since the start. */
export interface TrackedCircuit {
  /** Whether only this replica's faults opened it. */
  local: boolean;
  /** Set while it is being determined whether an opening is local; later changes are emitted after it. */
  judgingLocal?: Promise<void> | undefined;
  /** Id of the last change that all replicas share. */
  lastShared: string | undefined;
  readonly breaker: CircuitBreaker;
  /** The last `maxHistory` changes, oldest first. */
  readonly history: CircuitTransition[];
  readonly transitions: Record<CircuitKind, number>;
}

/** Max changes of each circuit in memory. */
const maxHistory = 50;
/** Number of circuits from which those of removed tools are deleted. */
const maxTracked = 10_000;

/** The circuits of all tools: kept in memory, updated by the recorder's events and restored from the database. */
@Injectable()
export class CircuitBreakers implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(CircuitBreakers.name);
  private readonly circuits = new Map<string, TrackedCircuit>();
  private readonly settings: CircuitSettings;
  private readonly subscriptions: (() => void)[] = [];
  /** Histories from before the start, of tools whose circuit is not restored yet; undefined until they are read. */
  private histories: Map<string, CircuitPast> | undefined;
  /** Milliseconds since the epoch. */
  private startedAt = 0;
  /** Undefined with one replica. */
  private readonly fleet: FleetCircuits | undefined;
  /** Whether a breaker is being opened for the faults of all replicas. */
  private isOpeningForAll = false;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly calls: CallEvents,
    private readonly events: CircuitEvents,
    private readonly knownTools: KnownTools,
    private readonly stored: CircuitHistories,
    fleet: FleetCircuits,
  ) {
    this.settings = config.circuit;
    this.fleet = fleet.isOn ? fleet : undefined;
  }

  onModuleInit(): void {
    this.subscriptions.push(
      this.calls.subscribe('executed', this.record),
      this.knownTools.changes.subscribe(() => this.followTools()),
    );
  }

  /** Restores the circuits. If their history cannot be read, they start closed. */
  async onApplicationBootstrap(): Promise<void> {
    this.startedAt = this.clock.now();
    try {
      this.histories = await this.stored.read(new Date(this.startedAt - 2 * this.settings.windowMs));
    } catch (error) {
      this.logger.error(error, 'circuits start without their past: it could not be read');
      this.histories = new Map();
    }
    this.followTools();
    this.fleet?.follow((transition, probingMs) => this.adopt(transition, probingMs));
  }

  onApplicationShutdown(): void {
    for (const end of this.subscriptions) end();
  }

  /** Decides whether a call may run. On the hot path. */
  admit(tool: string, executionId: string): CircuitDecision {
    return this.track(tool).breaker.admit(executionId);
  }

  /** Resolves when the replica that probes a due circuit is chosen; undefined if there is nothing to choose. */
  decideProber(tool: string): Promise<void> | undefined {
    const { breaker, local } = this.track(tool);
    return this.fleet && !local && breaker.isDue() ? this.fleet.takeLease(tool) : undefined;
  }

  /**
   * Opens, closes or resets a circuit by hand, at all replicas.
   * @throws Problem `not_found`, or the database's error; nothing has changed then
   */
  async override(
    tool: string,
    change: 'openByHand' | 'closeByHand' | 'reset',
    { by, reason }: CircuitOverride,
  ): Promise<void> {
    const tracked = this.find(tool);
    await tracked.judgingLocal;
    const { kind: from, openings } = tracked.breaker.current();
    const at = this.clock.now();
    const transition: CircuitTransition = {
      id: newId(at),
      tool,
      at,
      from,
      reason,
      by,
      local: false,
      replica: this.fleet?.replica ?? null,
      to: change === 'openByHand' ? 'open' : 'closed',
      openings: change === 'reset' ? 0 : openings,
    };
    await this.fleet?.write(transition);
    this.apply(tracked, transition);
    this.emit(tracked, transition);
  }

  /**
   * A tool's circuit.
   * @throws Problem `not_found` for a tool that is not registered, was not seen since the start and is not held open by hand
   */
  find(tool: string): TrackedCircuit {
    // A disabled tool's circuit that was held open by hand before the start can still be closed.
    if (this.circuits.has(tool) || this.knownTools.has(tool) || this.histories?.get(tool)?.held)
      return this.track(tool);
    throw new Problem('not_found', `There is no circuit of a tool named ${JSON.stringify(tool)}`);
  }

  /** Names of the tools whose circuits are not closed, sorted. */
  notClosed(): string[] {
    const held = [...(this.histories ?? [])].filter(([, past]) => past.held).map(([tool]) => tool);
    const others = [...this.circuits].filter(([, { breaker }]) => breaker.current().kind !== 'closed');
    return [...held, ...others.map(([tool]) => tool)].sort();
  }

  /** Updates all circuits, so that transitions caused by time alone are emitted. */
  update(): void {
    for (const { breaker } of this.circuits.values()) breaker.current();
  }

  /** Applies a change that another replica made. */
  private adopt(transition: CircuitTransition, probingMs: number): void {
    const tracked = this.track(transition.tool);
    const { id, to, by } = transition;
    tracked.lastShared = id;
    // A local opening ends only when the tool works here.
    if (tracked.local && to !== 'open' && by === null) return;
    this.apply(tracked, transition, probingMs);
    this.remember(tracked, transition);
  }

  private readonly record = (event: ExecutedCall): void => {
    if (event.test || isInconclusive(event)) return;
    const { breaker } = this.track(event.tool);
    breaker.record({ executionId: event.executionId, fault: event.fault });
    if (event.fault && this.fleet && breaker.current().kind === 'closed') void this.openForAll(event.tool);
  };

  /** Opens a circuit if the faults of all replicas together are enough. */
  private async openForAll(tool: string): Promise<void> {
    const { breaker } = this.track(tool);
    const counts = await this.faultsOfAll(tool, { isUrgent: false });
    if (!counts || breaker.current().kind !== 'closed') return;
    this.isOpeningForAll = true;
    breaker.openFor(
      `${counts.faults} of ${counts.calls} calls at all replicas in the last ${breaker.rules().windowMs / 1_000} s were tool faults`,
    );
    this.isOpeningForAll = false;
  }

  /**
   * Calls and faults of all replicas since the circuit was closed, if they are enough to open it.
   * @param urgency whether they are counted even after many queries in the last second
   */
  private async faultsOfAll(
    tool: string,
    urgency: { readonly isUrgent: boolean },
  ): Promise<WindowCounts | undefined> {
    const { breaker, history } = this.track(tool);
    const closedAt = history.findLast(({ to }) => to === 'closed')?.at ?? this.startedAt;
    const since = Math.max(closedAt, this.clock.now() - breaker.rules().windowMs);
    const counts = await this.fleet?.countFaults(tool, since, urgency);
    return counts && breaker.opensAt(counts) ? counts : undefined;
  }

  /** Creates a circuit for each registered tool and applies changed thresholds. */
  private followTools(): void {
    // The history must be read first: circuits are restored when they are created.
    if (!this.histories) return;
    for (const tool of this.knownTools.names()) this.track(tool);
    for (const [tool, { breaker }] of this.circuits) {
      const before = breaker.rules();
      const now = this.settingsOf(tool);
      if (before.failures !== now.failures || before.windowMs !== now.windowMs) breaker.adjust(now);
    }
  }

  /** A tool's circuit, made and restored at its first use. */
  private track(tool: string): TrackedCircuit {
    const known = this.circuits.get(tool);
    if (known) return known;
    if (this.circuits.size >= maxTracked) this.deleteRemovedTools();
    const breaker = new CircuitBreaker(
      this.settingsOf(tool),
      this.clock,
      Math.random,
      (change) => this.onChange(tool, change),
      () => !this.fleet || tracked.local || this.fleet.mayProbe(tool),
    );
    const tracked: TrackedCircuit = {
      breaker,
      local: false,
      history: [],
      lastShared: this.histories?.get(tool)?.last?.id,
      transitions: { closed: 0, open: 0, half_open: 0 },
    };
    this.circuits.set(tool, tracked);
    void this.restore(tool, breaker);
    return tracked;
  }

  /** Restores a circuit at once, unless the tool's own window is longer than the history that was read. */
  private async restore(tool: string, breaker: CircuitBreaker): Promise<void> {
    const past = this.histories?.get(tool);
    this.histories?.delete(tool);
    const { windowMs } = breaker.rules();
    const isRefusing = past?.held !== undefined || (past?.last?.to ?? 'closed') !== 'closed';
    if (windowMs <= this.settings.windowMs || isRefusing) {
      if (past) breaker.restore(past);
      return;
    }
    let samples = past?.samples ?? [];
    try {
      // Calls since the start are counted already.
      samples = await this.stored.samplesOf(tool, this.startedAt - 2 * windowMs, this.startedAt);
    } catch (error) {
      this.logger.error({ tool, error }, 'a circuit starts with a shorter past: it could not be read');
    }
    breaker.restore({ ...past, samples });
  }

  /** Settings of a tool's circuit: its own error threshold and window replace the configured ones. */
  private settingsOf(tool: string): CircuitSettings {
    const { errorThreshold, windowMinutes } = this.knownTools.ownThresholdsOf(tool);
    const { failures, windowMs } = this.settings;
    return {
      ...this.settings,
      failures: errorThreshold ?? failures,
      windowMs: windowMinutes === undefined ? windowMs : windowMinutes * minuteMs,
    };
  }

  private deleteRemovedTools(): void {
    for (const [tool, { breaker }] of this.circuits) {
      if (!this.knownTools.has(tool) && !breaker.isHeld()) this.circuits.delete(tool);
    }
  }

  /** Puts a circuit into the state of a change that all replicas share. */
  private apply(tracked: TrackedCircuit, transition: CircuitTransition, probingMs?: number): void {
    tracked.local = false;
    tracked.breaker.adopt(transition, probingMs);
  }

  private remember({ history }: TrackedCircuit, transition: CircuitTransition): void {
    history.push(transition);
    if (history.length > maxHistory) history.shift();
  }

  /** Reports a change of a breaker. An opening here is local until all replicas' faults show otherwise. */
  private onChange(tool: string, change: CircuitChange): void {
    const tracked = this.circuits.get(tool);
    const opens = this.fleet !== undefined && change.from === 'closed' && change.to === 'open';
    // Replicas that open a circuit at the same time use the same id, so that only the first change is stored.
    const opening = `${tool} opened after ${tracked?.lastShared}`;
    const report = (): void => {
      const local = tracked?.local ?? false;
      const id = opens && !local ? idOf(opening) : newId(change.at);
      this.emit(tracked, { id, tool, ...change, replica: this.fleet?.replica ?? null, local });
    };
    if (tracked && opens && !this.isOpeningForAll) {
      // Opens here at once; other replicas follow if the tool fails at all of them.
      tracked.local = true;
      tracked.judgingLocal = this.faultsOfAll(tool, { isUrgent: true }).then((counts) => {
        tracked.local &&= counts === undefined;
        tracked.judgingLocal = undefined;
        report();
      });
    } else if (tracked?.judgingLocal) {
      void tracked.judgingLocal.then(report);
    } else report();
    if (tracked && change.to === 'closed') tracked.local = false;
  }

  /** Remembers, logs and emits a change that this replica made. */
  private emit(tracked: TrackedCircuit | undefined, transition: CircuitTransition): void {
    const { tool, from, to, reason, by, local = false } = transition;
    if (tracked) {
      tracked.transitions[to] += 1;
      if (!local) tracked.lastShared = transition.id;
      this.remember(tracked, transition);
    }
    const optional = { ...(by !== null && { by }), ...(local && { local }) };
    const entry = { event: `circuit_${to}`, tool, from, reason, ...optional };
    if (to === 'open') this.logger.warn(entry, 'circuit opened');
    else this.logger.log(entry, 'circuit changed');
    this.events.emit(transition);
  }
}

/** Whether a call says nothing about its tool: the caller left, the gateway died, or a dependency is down. */
function isInconclusive({ errorType, fault }: ExecutedCall): boolean {
  // A tool that answers -32602 works: its circuit counts that failure without fault as a success.
  return !fault && errorType !== undefined && errorType !== 'tool_error';
}
