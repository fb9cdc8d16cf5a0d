import { Injectable } from '@nestjs/common';
import { canonicalJson, sha256 } from '../../base/common/canonical-json.js';
import { invalidRequest, Problem, Refusal } from '../../base/common/errors.js';
import { KeyRing, SealedValues } from '../../base/config/key-ring.js';
import { Counters, type CountResult } from '../../base/counters/counters.js';
import { ExecutionRecorder } from '../../records/executions/execution-recorder.js';
import { ToolMetricsService } from '../../records/executions/tool-metrics.service.js';
import { type Answers, InputRequired, maxAskedMs, type Round } from '../../web/contract/asks.js';
import { callerIdOf } from '../../web/contract/principal.js';
import type { CallAnswer, CallRequest, ToolCall } from '../../web/contract/tool-call.js';

/** The content of a `requestState`, which the caller sends back encrypted. */
interface RoundState extends Round {
  readonly expiresAt: number;
  /** These four bind the state to its call. */
  readonly caller: string;
  readonly project: string;
  readonly tool: string;
  readonly input: string;
  /** Milliseconds until the deadline, which is paused between two rounds. */
  readonly leftMs: number;
  /** The state of the tool's own server. The name stays, because callers hold states that contain it. */
  readonly theirs: string | undefined;
}

/** Why a state cannot be used, by the member that differs from the call's. */
const whyForeign = {
  caller: 'belongs to a call of another caller',
  project: 'belongs to a call in another project',
  tool: 'belongs to a call of another tool',
  input: 'belongs to a call with other arguments',
} as const;

/**
 * Calls in rounds: a round ends with questions of the tool, and the caller repeats the call with the answers. Any replica
 * can continue the execution by the state that the caller sends back, once.
 */
@Injectable()
export class CallRounds {
  /** Encrypts states, so that callers can neither read nor change them. */
  private readonly sealed: SealedValues;

  constructor(
    keys: KeyRing,
    private readonly counters: Counters,
    private readonly recorder: ExecutionRecorder,
    private readonly metrics: ToolMetricsService,
  ) {
    this.sealed = new SealedValues(keys, 'request state');
  }

  /**
   * Continues an execution.
   * @param run receives the call with its earlier round
   * @throws Problem `invalid_request` with the reason, if the state is not valid
   */
  async continueCall(
    request: CallRequest,
    answers: Answers,
    run: (next: CallRequest) => Promise<CallAnswer>,
  ): Promise<CallAnswer> {
    const { executionId, startedAt, spentMs, number, leftMs, theirs } = this.openState(request, answers);
    const round = { executionId, startedAt, spentMs, number };
    // A queued round is counted already, and may be repeated after the loss of a replica.
    const claim = request.queued ? undefined : await this.claimRound(request, answers);
    try {
      if (!this.recorder.isSuspended(executionId)) await this.assertOpen(executionId);
      // The tool's own server gets the state that it sent.
      const forTool = { ...answers, requestState: theirs };
      const asks = { capabilities: {}, ...request.asks, answers: forTool, round };
      return await run({ ...request, executionId, timeoutMs: Math.max(1, leftMs), asks });
    } catch (error) {
      // The execution is still open, so the caller may retry.
      if (error instanceof Refusal) claim?.release();
      throw error;
    }
  }

  /**
   * Counts the use of a state, which is valid once.
   * @throws Problem `invalid_request` if it belongs to another call or was used before
   */
  async claimRound(request: CallRequest, answers: Answers): Promise<CountResult> {
    const { executionId, number } = this.openState(request, answers);
    const subject = `round ${number} of ${executionId}`;
    const counter = { kind: 'rate', project: '', subject, name: '' } as const;
    const claim = await this.counters.take({ ...counter, limit: 1, ttlMs: maxAskedMs });
    if (!claim.granted) throw invalidState('was used already: a round is answered once');
    return claim;
  }

  /** The questions of a tool, with the state for the next round. */
  withState({ inputRequests, requestState: theirs }: InputRequired, call: ToolCall): InputRequired {
    const { ticket, asks } = call;
    const { executionId, deadline } = ticket;
    const state: RoundState = {
      ...bindingOf(call),
      executionId,
      startedAt: ticket.startedAt,
      spentMs: ticket.elapsedMs(),
      leftMs: deadline.remainingMs(),
      number: (asks?.round?.number ?? 0) + 1,
      expiresAt: Date.now() + maxAskedMs,
      theirs,
    };
    return new InputRequired(inputRequests, this.sealed.seal(state), executionId);
  }

  /** The content of a state. @throws Problem `invalid_request` if it expired or belongs to another call */
  private openState(request: CallRequest, { requestState = '' }: Answers): RoundState {
    const state = this.sealed.open(requestState) as RoundState | undefined;
    if (!state) throw invalidState('was altered, or is none of this server');
    if (state.expiresAt < Date.now())
      throw invalidState(`has expired: answers are taken for ${maxAskedMs / 60_000} minutes`);
    const binding = bindingOf(request);
    for (const member of ['caller', 'project', 'tool', 'input'] as const)
      if (binding[member] !== state[member]) throw invalidState(whyForeign[member]);
    return state;
  }

  /** Checks the record, because another replica, or a restarted one, does not know whether the execution has ended. */
  private async assertOpen(executionId: string): Promise<void> {
    const record = await this.metrics.execution(executionId).catch((error: unknown) => {
      if (error instanceof Problem && error.code === 'not_found') return undefined;
      throw error;
    });
    if (record)
      throw invalidState(`belongs to an execution that has ended (${record.errorType ?? record.status})`);
  }
}

/** The members that bind a state to its call. */
const bindingOf = ({ principal, context, tool, input }: CallRequest) => ({
  caller: `${callerIdOf(principal)} ${principal.userId}`,
  project: context.projectId,
  tool,
  input: sha256(canonicalJson(input)),
});

const invalidState = (why: string): Problem => invalidRequest({ pointer: '/requestState', detail: why });
