import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Refusal } from '../common/errors.js';
import { IdSequence, newId } from '../common/ids.js';
import { Lifecycle } from '../common/lifecycle.js';
import { CallMetrics } from '../observability/call-metrics.js';
import { RepetitionMetrics } from '../observability/repetition-metrics.js';
import { type FirstRun, IdempotentCalls, type KeyedCall } from '../repetition/idempotent-calls.js';
import { isCacheable } from '../repetition/result-cache.js';
import { type BudgetState, CallTicket } from '../tool-contract/call-ticket.js';
import type { Tool } from '../tool-contract/tool.js';
import type { CallRequest, ToolCall } from '../tool-contract/tool-call.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';
import { type CacheableCall, CachedGateway } from './cached-gateway.js';
import { GuardedHandler } from './guarded-handler.js';
import { InputLimits } from './input-limits.js';
import { ToolGateway } from './tool-gateway.js';
import { ToolRegistry } from './tool-registry.js';

export interface CallAnswer {
  readonly outcome: ToolOutcome;
  /** The JSON of its result, where the tool's own may be passed on. */
  readonly resultJson?: string | undefined;
  /** What is left of the investigation's budget; absent without an investigation or a limit. */
  readonly budget?: BudgetState | undefined;
  /** An earlier call with the same idempotency key was answered so: nothing was run. */
  readonly replayed?: true;
}

/** How long a call waits for an earlier one with its key, where neither the caller nor the tool says. */
const defaultWaitMs = 30_000;

/** The one way to call a tool: REST, MCP and test runs all come through here. */
@Injectable()
export class ToolDoor implements OnApplicationBootstrap {
  protected enter: (call: ToolCall) => Promise<ToolOutcome> = notYet;

  protected enterCached: (call: CacheableCall) => Promise<ToolOutcome> = notYet;

  private readonly ids = new IdSequence();

  constructor(
    private readonly gateway: ToolGateway,
    private readonly cachedGateway: CachedGateway,
    private readonly modules: ModuleRef,
    private readonly registry: ToolRegistry,
    private readonly limits: InputLimits,
    private readonly lifecycle: Lifecycle,
    private readonly metrics: CallMetrics,
    private readonly keys: IdempotentCalls,
    private readonly repetitions: RepetitionMetrics,
  ) {}

  /** @throws Refusal for a call that was not run */
  call(request: CallRequest): Promise<CallAnswer> {
    return request.idempotencyKey === undefined ? this.start(request) : this.once(request);
  }

  /**
   * A caller who gives a key may leave and come back for the outcome: a call that has begun is not cancelled with it.
   * Whoever finds an outcome needs no tool any more, so the key is looked at first.
   */
  private async once({ idempotencyKey = '', signal, ...request }: CallRequest): Promise<CallAnswer> {
    this.checkCaller(request);
    const definition = this.registry.find(request.tool)?.definition;
    const waitMs = Math.min(request.timeoutMs ?? Infinity, definition?.timeoutMs ?? defaultWaitMs);
    const idempotent = definition?.annotations.idempotent ?? false;
    const call: KeyedCall = { ...request, idempotencyKey, signal, waitMs, idempotent };
    let begun = false;
    const run = ({ executionId, remainingMs }: FirstRun): Promise<CallAnswer> => {
      begun = true;
      const first = { ...request, timeoutMs: Math.max(1, remainingMs) };
      return this.lifecycle.requests.during(() => this.start(first, executionId));
    };
    try {
      const answer = await this.keys.once(call, run);
      if ('replayed' in answer) this.repetitions.replayed(answer.outcome.tool);
      return answer;
    } catch (error) {
      if (!begun && error instanceof Refusal) this.metrics.refused(definition?.name, error.code);
      throw error;
    }
  }

  private start(request: CallRequest, executionId?: string): Promise<CallAnswer> {
    return this.run(this.registry.find(request.tool), request, executionId);
  }

  /** Runs a tool that need not be registered as an operator's trial: no budget, no circuit, no grade. */
  test(tool: Tool, request: CallRequest): Promise<CallAnswer> {
    return this.run(tool, { ...request, test: true });
  }

  /** One function from the caller to the guards: each asynchronous step between them costs half a microsecond. */
  private async run(
    tool: Tool | undefined,
    request: CallRequest,
    executionId = this.ids.next(),
  ): Promise<CallAnswer> {
    this.checkCaller(request);
    if (!tool) throw this.notFound(request.tool);
    const { name } = tool.definition;
    const ticket = new CallTicket(executionId, tool);
    let refused = false;
    try {
      this.admit(tool, request);
      const call = { ...request, ticket };
      const outcome = await (isCacheable(tool.definition) && !request.test
        ? this.enterCached({ ...call, run: this.enter })
        : this.enter(call));
      const resultJson = outcome.status === 'success' ? ticket.notes.resultJson : undefined;
      return { outcome, resultJson, budget: ticket.budget };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refused = true;
      this.metrics.refused(name, error.code);
      // Whatever refused the call: an LLM reads the tool's fallback.
      const { fallback } = tool.definition;
      throw new Refusal(error.code, error.detail, {
        ...(fallback !== undefined && { fallback }),
        ...error.details,
      });
    } finally {
      ticket.end(refused);
    }
  }

  /** First of all: who may not call learns nothing about the tools. */
  private checkCaller({ principal }: CallRequest): void {
    if (principal.scopes.has('tools:call')) return;
    this.metrics.refused(undefined, 'forbidden');
    throw new Refusal('forbidden', 'Calling tools needs the scope tools:call');
  }

  private notFound(name: string): Refusal {
    this.metrics.refused(undefined, 'tool_not_found');
    return new Refusal('tool_not_found', `There is no tool named ${JSON.stringify(name)}, or it is disabled`);
  }

  /** What can be refused before the guards: it costs nothing and harms no health. */
  private admit(tool: Tool, request: CallRequest): void {
    if (this.lifecycle.isDraining()) {
      throw new Refusal('shutting_down', 'The server is stopping', { retryAfterMs: 5_000 });
    }
    this.limits.check(request);
    const errors = tool
      .validate(request.input)
      .map(({ pointer, detail }) => ({ pointer: `/input${pointer}`, detail }));
    if (errors.length > 0) {
      const detail = errors.map((error) => `${error.pointer.slice(1)} ${error.detail}`).join('; ');
      throw new Refusal('invalid_input', detail, { errors });
    }
  }

  async onApplicationBootstrap(): Promise<void> {
    // The method itself, not a bound copy: guards and interceptor are read from it.
    const execute = Reflect.get(ToolGateway.prototype, 'execute');
    const handler = await GuardedHandler.of(this.gateway, execute, this.modules, 'tool');
    const executeCached = Reflect.get(CachedGateway.prototype, 'execute');
    const cached = await GuardedHandler.of(this.cachedGateway, executeCached, this.modules, 'tool');
    this.enter = (call) => handler.run(call);
    this.enterCached = (call) => cached.run(call);
    await this.selfTest();
  }

  /** A door that lets a refused call through must not open: guards fail open when they are wired wrongly. */
  private async selfTest(): Promise<void> {
    let ran = false;
    const tool: Tool = {
      definition: selfTestDefinition,
      validate: () => [],
      reserve: () => {
        throw new Refusal('queue_full', 'self-test');
      },
      run: async () => (ran = true),
    };
    const ticket = new CallTicket(newId(), tool);
    const call = {
      tool: selfTestDefinition.name,
      input: {},
      context: selfTestContext,
      principal: nobody,
      ticket,
    };
    const refusal = await this.enter(call).catch((error: unknown) => error);
    ticket.end(true);
    if (ran || !(refusal instanceof Refusal)) throw new Error('The door runs calls that its guards refuse');
  }
}

const notYet = (): never => {
  throw new Refusal('tool_unavailable', 'The server is still starting', { retryAfterMs: 1_000 });
};
const nobody = { userId: 'self-test', scopes: new Set<never>() };
const selfTestContext = { userId: 'self-test', requestId: 'self-test', projectId: 'default' };
const selfTestDefinition = {
  name: 'self_test',
  description: 'Sees at start that a refused call is not run.',
  kind: 'builtin',
  version: '1.0.0',
  inputSchema: {},
  annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
  tags: [],
  timeoutMs: 1_000,
} as const;
