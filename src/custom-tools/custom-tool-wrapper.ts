import { setTimeout as delay } from 'node:timers/promises';
import { Refusal } from '../common/errors.js';
import { PoolFailure, type PoolAnswer, type RequestNotes } from '../process-pool/pool.types.js';
import type { ProcessPool } from '../process-pool/process-pool.js';
import type { Release, Tool, ToolDefinition, ToolRun } from '../tool-contract/tool.js';
import { ToolFailure } from '../tool-contract/tool-outcome.js';
import type { InputValidator } from '../tools/input-validator.js';
import type { CustomTool } from './custom-tool.entity.js';
import type { Redactor } from './secrets/redactor.js';

export interface RunningBackend {
  readonly pool: ProcessPool;
  readonly workingDir: string;
  /** What is started, links resolved. */
  readonly realPath: string;
  readonly redactor: Redactor;
}

/** A pool to run on, or the reason why there is none. */
export type ToolBackend = RunningBackend | { readonly unavailable: string };

/** An executable as a Tool (seed 003, CustomToolWrapper). */
export class CustomToolWrapper implements Tool {
  readonly definition: ToolDefinition;
  /** The pool ends and cleans up what overruns. */
  readonly watchesDeadline = true;

  constructor(
    private readonly tool: CustomTool,
    readonly validate: InputValidator,
    readonly backend: ToolBackend,
  ) {
    this.definition = definitionOf(tool);
  }

  reserve(): Release {
    const { name } = this.definition;
    const { backend } = this;
    const why = 'unavailable' in backend ? backend.unavailable : whyUnavailable(backend);
    if ('unavailable' in backend || why !== undefined) {
      throw new Refusal('tool_unavailable', `${name} cannot be started: ${why}`, { retryAfterMs: 30_000 });
    }
    try {
      return backend.pool.reserve();
    } catch (error) {
      if (!(error instanceof PoolFailure)) throw error;
      const code = error.reason === 'queue_full' ? 'queue_full' : 'shutting_down';
      throw new Refusal(code, `${name}: ${error.message}`, { retryAfterMs: 1_000 });
    }
  }

  async run(input: unknown, run: ToolRun): Promise<unknown> {
    const { backend } = this;
    if ('unavailable' in backend) throw new ToolFailure('spawn_failed', backend.unavailable);
    const { redactor } = backend;
    for (let attempt = 1; ; attempt++) {
      run.notes.attempts = attempt;
      try {
        const { reply, notes } = await this.request(backend.pool, backend.workingDir, input, run);
        Object.assign(run.notes, notes);
        if ('result' in reply) return reply.result;
        const { code, message, data } = reply.error;
        throw new ToolFailure('tool_error', redactor.clean(message), {
          code,
          data: redactor.cleanJson(data),
        });
      } catch (error) {
        if (!(error instanceof PoolFailure)) throw error;
        Object.assign(run.notes, withoutSecrets(error.notes, redactor));
        if (!this.mayRepeat(error, attempt, run)) throw asToolFailure(error, redactor);
        await delay(this.tool.retryDelayMs, undefined, { signal: run.signal }).catch(() => undefined);
      }
    }
  }

  private request(pool: ProcessPool, workingDir: string, input: unknown, run: ToolRun): Promise<PoolAnswer> {
    const { executionId, context, deadline, signal, probe } = run;
    const params = (timeout: number): unknown => ({
      input,
      context: { runId: context.runId ?? context.requestId, executionId, workingDir, timeout },
    });
    return pool.execute({ method: 'execute', params, deadline, signal, fresh: probe });
  }

  /** Running a call twice is safe when nothing reached the process, or when the tool says so of itself. */
  private mayRepeat(failure: PoolFailure, attempt: number, { deadline, signal }: ToolRun): boolean {
    const repeatable = ['tool_crashed', 'spawn_failed', 'protocol_error'].includes(failure.reason);
    const safe = !failure.written || this.tool.annotations.idempotent;
    const timeLeft = deadline.remainingMs() > this.tool.retryDelayMs;
    return repeatable && safe && timeLeft && attempt <= this.tool.maxRetries && !signal.aborted;
  }
}

function whyUnavailable({ pool, redactor }: RunningBackend): string | undefined {
  const why = pool.whyUnavailable();
  return why === undefined ? undefined : redactor.clean(why);
}

function withoutSecrets(notes: RequestNotes, redactor: Redactor): RequestNotes {
  const { stderrTail } = notes;
  return stderrTail === undefined
    ? notes
    : { ...notes, stderrTail: redactor.clean(stderrTail, { start: true }) };
}

function asToolFailure(failure: PoolFailure, redactor: Redactor): ToolFailure {
  const { reason } = failure;
  const message = redactor.clean(failure.message);
  // A pool that stops or is full while a call runs is the gateway's doing, not the tool's.
  if (reason === 'queue_full' || reason === 'shutting_down') return new ToolFailure('interrupted', message);
  return new ToolFailure(reason, message);
}

function definitionOf(tool: CustomTool): ToolDefinition {
  const {
    name,
    description,
    version,
    inputSchema,
    annotations,
    tags,
    timeoutMs,
    fallback,
    callsPerInvestigation,
  } = tool;
  return {
    name,
    description,
    kind: 'custom',
    version,
    inputSchema,
    annotations,
    tags,
    timeoutMs: Math.min(timeoutMs, tool.sandbox?.maxExecutionMs ?? Infinity),
    ...(fallback !== null && { fallback }),
    ...(callsPerInvestigation !== null && { callsPerInvestigation }),
  };
}
