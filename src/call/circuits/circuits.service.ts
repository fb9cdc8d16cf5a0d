import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLOCK, type Clock, minuteMs } from '../../base/common/clock.js';
import type { CircuitBreaker } from '../../base/outbound/breaker/circuit-breaker.js';
import { ToolMetricsRepository } from '../../records/executions/tool-metrics.repository.js';
import { CircuitBreakers, type TrackedCircuit } from './circuit-breakers.js';
import { type CircuitTransition, CircuitTransitionsRepository } from './circuit-transitions.repository.js';
import { KnownTools } from './known-tools.js';
import type * as dto from './circuit.dto.js';

/** Max transitions in the answer to an override. */
const shownByDefault = 50;
/** Reasons of overrides without one. */
const defaultReasons = {
  openByHand: 'Opened by hand',
  closeByHand: 'Closed by hand',
  reset: 'Reset by hand',
};

@Injectable()
export class CircuitsService {
  private readonly logger = new Logger(CircuitsService.name);

  constructor(
    private readonly circuits: CircuitBreakers,
    private readonly history: CircuitTransitionsRepository,
    private readonly metrics: ToolMetricsRepository,
    private readonly knownTools: KnownTools,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** A tool's circuit. @throws Problem `not_found` if it is not registered, not seen since the start and not held open */
  async circuitOf(tool: string, limit = shownByDefault): Promise<dto.CircuitView> {
    const tracked = this.circuits.find(tool);
    await this.circuits.decideProber(tool);
    // The state is read first, because that may add a transition to the history.
    tracked.breaker.current();
    const history = await this.historyOf(tool, tracked, limit);
    return { ...stateOf(tool, tracked.breaker), ...history };
  }

  notClosed(): dto.CircuitListView {
    const data = this.circuits.notClosed().map((tool) => stateOf(tool, this.circuits.find(tool).breaker));
    return { data };
  }

  /** Compares errors and timeouts in the window with a threshold. Advice only: the circuit also considers the failure rate. */
  async advice(tool: string, query: dto.CircuitAdviceQuery): Promise<dto.CircuitAdviceView> {
    const own = this.knownTools.thresholdsOf(tool);
    const { errorThreshold = own.errorThreshold, windowMinutes = own.windowMinutes } = query;
    const since = new Date(this.clock.now() - windowMinutes * minuteMs);
    const errors = await this.metrics.countFailures(tool, since);
    const shouldBreak = errors >= errorThreshold;
    const advice = { tool, shouldBreak, errors, errorThreshold, windowMinutes };
    if (shouldBreak) this.logger.warn({ event: 'circuit_breaker_triggered', ...advice });
    return advice;
  }

  /** Opens, closes or resets a tool's circuit by hand. @throws Problem `not_found`, or the database's error */
  async override(
    tool: string,
    change: keyof typeof defaultReasons,
    body: dto.OverrideCircuitBody,
    caller: string,
  ): Promise<dto.CircuitView> {
    const { by = caller, reason = defaultReasons[change] } = body;
    await this.circuits.override(tool, change, { by, reason });
    return this.circuitOf(tool);
  }

  /** The newest transitions; without the database, only those in memory. */
  private async historyOf(
    tool: string,
    { history }: TrackedCircuit,
    limit: number,
  ): Promise<Pick<dto.CircuitView, 'history' | 'historyComplete'>> {
    try {
      return { history: viewsOf(await this.history.newest(tool, limit)), historyComplete: true };
    } catch (error) {
      this.logger.warn(error, 'the history of a circuit could not be read');
      return { history: viewsOf(history.slice(-limit)), historyComplete: false };
    }
  }
}

const viewsOf = (transitions: readonly CircuitTransition[]): dto.CircuitTransitionView[] =>
  transitions.map(({ at, from, to, reason, by }) => ({ at: iso(at), from, to, reason, by }));

function stateOf(tool: string, breaker: CircuitBreaker): dto.CircuitStateView {
  const state = breaker.current();
  const { faults, calls } = breaker.counts();
  const { failures, minFailureRate, windowMs } = breaker.rules();
  const openSince = breaker.openSince();
  const until = state.kind === 'open' ? state.until : null;
  return {
    tool,
    state: state.kind,
    reason: state.reason,
    by: state.by,
    since: iso(state.since),
    openSince: openSince === null ? null : iso(openSince),
    nextProbeAt: until === null ? null : iso(until),
    heldByHand: breaker.isHeld(),
    faultsInWindow: faults,
    callsInWindow: calls,
    opensAt: { faults: failures, minFailureRate, windowMs },
  };
}

const iso = (at: number): string => new Date(at).toISOString();
