import {
  Injectable,
  type OnApplicationBootstrap,
  UseGuards,
  UseInterceptors,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { ExternalContextCreator } from '@nestjs/core';
import { Cancellation } from '../../base/common/cancellation.js';
import { Deadline } from '../../base/common/deadline.js';
import { Refusal } from '../../base/common/errors.js';
import { newId } from '../../base/common/ids.js';
import { InvestigationBudgetGuard } from '../budgets/investigation-budget.guard.js';
import { IdempotentCalls } from '../repetition/idempotent-calls.js';
import { ResultCache } from '../repetition/result-cache.js';
import { InputRequired, isLive } from '../../web/contract/asks.js';
import { type CachedAnswer, CallTicket } from '../../web/contract/call-ticket.js';
import { defineTool } from '../../web/contract/define-tool.js';
import { fallbackOf, keptOutcomeOf, type Tool } from '../../web/contract/tool.js';
import type { CallAnswer, CallRequest, ToolCall } from '../../web/contract/tool-call.js';
import { failedOutcome, ToolFailure, type ToolOutcome } from '../../web/contract/tool-outcome.js';
import { CircuitBreakerGuard } from '../circuits/circuit-breaker.guard.js';
import { ExecutionRecorderInterceptor } from '../../records/executions/execution-recorder.interceptor.js';
import { CallChecks } from './call-checks.js';
import { CallRounds } from './call-rounds.js';
import { CallReports } from './call-reports.js';
import { ToolRegistry } from './tool-registry.js';
import { Lifecycle } from '../../base/common/lifecycle.js';
import { Replicas } from '../../base/database/replicas.js';

/** Takes the call's slot in its tool's queue: the last guard, so that only admitted calls take one. */
@Injectable()
class ToolCapacityGuard implements CanActivate {
  constructor(
    private readonly lifecycle: Lifecycle,
    private readonly replicas: Replicas,
  ) {}

  /** @throws Refusal `shutting_down`, `queue_full` or `tool_unavailable` */
  canActivate(context: ExecutionContext): boolean {
    const call = context.getArgByIndex<ToolCall>(0);
    const { ticket } = call;
    ticket.admittedToQueue = true;
    if (this.lifecycle.state === 'draining') {
      throw new Refusal('shutting_down', 'The server is stopping', { retryAfterMs: 5_000 });
    }
    try {
      if (!ticket.cachedAnswer) ticket.slot = ticket.tool.takeSlot?.(call);
      return true;
    } catch (error) {
      throw error instanceof Refusal && error.details.retryElsewhere ? this.withRetryHint(error) : error;
    }
  }

  /** The refusal, with the advice to retry at once if there are other replicas: one of them may have capacity. */
  private withRetryHint({ code, detail, details }: Refusal): Refusal {
    const retryElsewhere = this.replicas.count > 1;
    return new Refusal(code, detail, {
      ...details,
      retryElsewhere,
      ...(retryElsewhere && { retryAfterMs: 0 }),
    });
  }
}

/** Default time that a call waits for an earlier one with the same idempotency key. */
const defaultLimitMs = 30_000;

/** Min share of its own time limit that a tool must have had left after waiting, for a timeout to count as its fault. */
const minOwnShare = 0.9;

/** The one way to call a tool, from top to bottom: calls of agents and test calls of operators all come through here. */
@Injectable()
export class Door implements OnApplicationBootstrap {
  /** `execute` behind its guards and its interceptor, as Nest runs them. Set at bootstrap. */
  private enter: (call: ToolCall) => Promise<ToolOutcome> = refuseWhileStarting;

  constructor(
    private readonly registry: ToolRegistry,
    private readonly checks: CallChecks,
    private readonly keys: IdempotentCalls,
    private readonly results: ResultCache,
    private readonly reports: CallReports,
    private readonly rounds: CallRounds,
    private readonly contexts: ExternalContextCreator,
  ) {}

  /** Sets `enter`, and checks that it is guarded. */
  async onApplicationBootstrap(): Promise<void> {
    const options = { guards: true, interceptors: true, filters: false };
    // The method itself, not a bound copy: Nest reads guards and interceptor from it.
    const execute = Reflect.get(Door.prototype, 'execute') as (...args: unknown[]) => unknown;
    // No metadata or factory of parameters, no id of a context or an inquirer.
    const unset = [undefined, undefined, undefined, undefined] as const;
    this.enter = this.contexts.create(this, execute, 'execute', ...unset, options, 'tool');
    await this.selfTest();
  }

  /** Calls a tool by name. @throws Refusal for a call that was not run */
  call(request: CallRequest): Promise<CallAnswer> {
    const tool = request.kind ? this.registry.findServer(request.tool) : this.registry.find(request.tool);
    return tool || request.kind
      ? this.answer(tool, request)
      : this.registry.lookUp(request.tool).then((found) => this.answer(found, request));
  }

  /** Runs a test call of a tool that need not be registered: no budget, no circuit, no grade. */
  test(tool: Tool, request: CallRequest): Promise<CallAnswer> {
    return this.answer(tool, { ...request, test: true });
  }

  /**
   * Checks a call before it is queued, or before a person is asked for an approval: then its rate is counted and its page
   * looked up later, when it runs.
   * @throws Refusal for a call that would be refused before its guards
   */
  async accept(request: CallRequest, { forApproval = false } = {}): Promise<void> {
    const tool = this.registry.find(request.tool) ?? (await this.registry.lookUp(request.tool));
    try {
      await this.checks.checkCaller(forApproval ? { ...request, queued: true } : request);
      const loaded = tool?.load ? await this.registry.load(tool, tool.definition.timeoutMs) : tool;
      const found = requireTool(loaded, request);
      await (forApproval
        ? this.checks.validateInput(found, request)
        : this.checks.checkInput(found, request));
    } catch (error) {
      throw error instanceof Refusal ? this.reportRefusal(tool, request, error) : error;
    }
  }

  /** Answers a call of a tool; the first step that all calls share. */
  private answer(tool: Tool | undefined, original: CallRequest): Promise<CallAnswer> {
    const { name } = tool?.definition ?? { name: original.tool };
    // The tool's own name replaces a platform's alias.
    const request = name === original.tool ? original : { ...original, tool: name };
    const { asks } = request;
    if (asks?.answers && !asks.round)
      return this.rounds.continueCall(request, asks.answers, (next) => this.answer(tool, next));
    if (!this.reports.traced) return this.decide(tool, request);
    return this.reports.spanOfCall(request, () => this.decide(tool, request));
  }

  /**
   * Decides how a call is answered. One deadline bounds each wait of the call: for an earlier call with its key, an equal
   * call, a process, the tool.
   */
  private async decide(tool: Tool | undefined, request: CallRequest): Promise<CallAnswer> {
    const limitMs = tool?.definition.timeoutMs ?? defaultLimitMs;
    const deadline = Deadline.ofSmallest([request.timeoutMs, limitMs]);
    const { idempotencyKey } = request;
    try {
      const counting = this.checks.checkCaller(request);
      if (counting) await counting;
      const loaded = tool?.load ? await this.registry.load(tool, deadline.remainingMs()) : tool;
      return await (idempotencyKey === undefined
        ? this.admit(loaded, request, deadline, request.executionId ?? newId())
        : this.once(loaded, { ...request, idempotencyKey, deadline }));
    } catch (error) {
      throw error instanceof Refusal ? this.reportRefusal(tool, request, error) : error;
    }
  }

  /**
   * Reports a refusal.
   * @returns it with the tool's fallback for an LLM, unless the caller may know nothing about the tool
   */
  private reportRefusal(tool: Tool | undefined, request: CallRequest, refusal: Refusal): Refusal {
    const visibleTool = refusal.code === 'forbidden' ? undefined : tool;
    this.reports.refused(visibleTool, request, refusal);
    const fallback = visibleTool && fallbackOf(visibleTool, refusal.detail);
    if (fallback === undefined) return refusal;
    return new Refusal(refusal.code, refusal.detail, { ...refusal.details, fallback });
  }

  /**
   * Runs a call with an idempotency key once. Its caller may disconnect and come back for the outcome, so a call that has
   * begun is not cancelled then. The key is looked up before the tool: a stored outcome outlives its tool.
   */
  private async once(
    tool: Tool | undefined,
    request: CallRequest & { readonly idempotencyKey: string; readonly deadline: Deadline },
  ): Promise<CallAnswer> {
    const idempotent = tool?.definition.annotations.idempotent ?? false;
    const cancellation = request.queued ? request.cancellation : undefined;
    // The outcome is stored under the key, so the call has one round, unless its job carries it through all of them.
    const asks = request.queued || (request.asks && isLive(request.asks)) ? request.asks : undefined;
    const withoutSecrets = (outcome: ToolOutcome): ToolOutcome => keptOutcomeOf(tool, outcome);
    const answer = await this.keys.once({ ...request, idempotent, withoutSecrets }, (executionId, begin) =>
      this.admit(tool, { ...request, cancellation, begin, asks }, request.deadline, executionId),
    );
    if (answer.replayed) this.reports.replayed(answer.outcome.tool);
    return answer;
  }

  /** Checks a call's input and runs it. A refusal before the guards costs no budget and does not count for health. */
  private async admit(
    candidate: Tool | undefined,
    request: CallRequest,
    deadline: Deadline,
    executionId: string,
  ): Promise<CallAnswer> {
    const tool = requireTool(candidate, request);
    const checked = this.checks.checkInput(tool, request);
    const valid = checked instanceof Promise ? await checked : checked;
    const ticket = new CallTicket(executionId, tool, deadline);
    const call: ToolCall = { ...valid, ticket };
    let isRefused = false;
    try {
      const { cacheTtlMs = 0, annotations } = tool.definition;
      const mayReuse = cacheTtlMs > 0 && annotations.readOnly && !request.test && !request.asks?.round;
      const outcome = await (mayReuse ? this.results.answer(call, this.enter) : this.enter(call));
      const shown = ticket.aside === undefined ? outcome : withAside(outcome, ticket.aside, request);
      return { outcome: shown, budget: ticket.budget };
    } catch (error) {
      isRefused = error instanceof Refusal;
      throw error instanceof InputRequired ? this.rounds.withState(error, call) : error;
    } finally {
      ticket.end(isRefused);
    }
  }

  /**
   * Runs the tool after budget, circuit and capacity have admitted the call and its start is recorded. It throws if it is
   * called directly, because the ticket then lacks their flags.
   */
  @UseGuards(InvestigationBudgetGuard, CircuitBreakerGuard, ToolCapacityGuard)
  @UseInterceptors(ExecutionRecorderInterceptor)
  execute(call: ToolCall): Promise<ToolOutcome> {
    const { ticket } = call;
    ticket.assertAdmitted();
    if (ticket.cachedAnswer) return Promise.resolve(this.answerFromCache(call, ticket.cachedAnswer));
    call.onStart?.({ executionId: ticket.executionId, budget: ticket.budget });
    this.reports.executionStarted(call);
    return this.reports.traced ? this.reports.spanOfExecution(() => this.run(call)) : this.run(call);
  }

  /** Runs the tool. Its failures are outcomes. */
  private async run(call: ToolCall): Promise<ToolOutcome> {
    const { ticket, context, principal, begin, onProgress, asks, cancellation = new Cancellation() } = call;
    const { executionId, tool, deadline, probe, notes } = ticket;
    const mayBlameTool = hasToolsOwnTime(call);
    const run = {
      executionId,
      deadline,
      probe,
      notes,
      context,
      principal,
      begin,
      onProgress,
      asks,
      cancellation,
    };
    try {
      if (begin && !tool.waitsForProcess) await begin();
      const result = await (ticket.slot ?? tool).run(call.input, run);
      return { ...baseOf(ticket), status: 'success', result };
    } catch (error) {
      if (!(error instanceof ToolFailure)) throw error;
      ticket.aside = error.aside;
      ticket.toolFault = error.isToolFault && (error.type !== 'timeout' || mayBlameTool);
      return failedOutcome(baseOf(ticket), error, fallbackOf(tool, error.message));
    } finally {
      this.reports.executionEnded(call);
    }
  }

  /** The outcome of an earlier equal call, as this call's caller reads it. */
  private answerFromCache(call: ToolCall, kept: CachedAnswer): ToolOutcome {
    const { tool } = call.ticket;
    const { outcome } = kept;
    tool.onReuse?.(outcome.result, call.context);
    this.reports.cached(call, kept);
    const result = tool.asReused ? tool.asReused(outcome.result) : outcome.result;
    return { ...outcome, result, cached: true };
  }

  /** Checks that guards can refuse a call: if they were wired wrongly, all calls would pass. */
  private async selfTest(): Promise<void> {
    let hasRun = false;
    const refused = new Refusal('queue_full', 'self-test');
    const { definition } = defineTool({
      name: 'self_test',
      description: '',
      input: {},
      run: async () => null,
    });
    const tool: Tool = {
      definition,
      validate: () => [],
      takeSlot: () => {
        throw refused;
      },
      run: async () => (hasRun = true),
    };
    const ticket = new CallTicket(newId(), tool, Deadline.ofSmallest([definition.timeoutMs]));
    const context = { userId: 'self-test', requestId: 'self-test', projectId: 'default' };
    const principal = { userId: 'self-test', scopes: new Set<never>() };
    const call = { tool: definition.name, input: {}, context, principal, ticket };
    const refusal = await this.enter(call).catch((error: unknown) => error);
    ticket.end(true);
    if (hasRun || refusal !== refused)
      throw new Error('The door runs calls that its guards refuse', { cause: refusal });
  }
}

/** Asserts that the tool exists. @throws Refusal `tool_not_found` */
function requireTool(tool: Tool | undefined, request: CallRequest): Tool {
  if (tool) return tool;
  const name = JSON.stringify(request.tool);
  throw new Refusal('tool_not_found', `There is no tool named ${name}, or it is disabled`);
}

/** Members of an outcome that do not depend on its status. */
const baseOf = (ticket: CallTicket) => ({
  executionId: ticket.executionId,
  tool: ticket.tool.definition.name,
  executionTimeMs: ticket.elapsedMs(),
  attempts: ticket.notes.attempts,
  cached: false,
});

/** Adds details to an error that only callers with `tools:admin` may read. The stored execution has them in its metadata. */
function withAside(outcome: ToolOutcome, aside: string, { principal }: CallRequest): ToolOutcome {
  if (outcome.status === 'success' || !principal.scopes.has('tools:admin')) return outcome;
  const { error } = outcome;
  return { ...outcome, error: { ...error, message: `${error.message}. ${aside}` } };
}

/** A timeout below the tool's own, or one used up by waiting, is not the tool's fault. */
function hasToolsOwnTime({ timeoutMs = Infinity, ticket: { tool, deadline } }: ToolCall): boolean {
  const ownMs = tool.definition.timeoutMs;
  return timeoutMs >= ownMs && deadline.remainingMs() >= ownMs * minOwnShare;
}

/** Stands for `enter` until bootstrap. */
function refuseWhileStarting(): never {
  throw new Refusal('tool_unavailable', 'The server is still starting', { retryAfterMs: 1_000 });
}
