import { setTimeout as delay } from 'node:timers/promises';
import { type OutcomeCode, Refusal } from '../../common/errors.js';
import { isUnwritable, tooDeep } from '../../common/json-depth.js';
import type { Tracer } from '../../observability/tracing/tracer.js';
import {
  type PoolAnswer,
  PoolFailure,
  type ProcessSpec,
  type ReplyError,
  type RequestNotes,
} from '../../process-pool/pool.types.js';
import type { ProcessPool } from '../../process-pool/process-pool.js';
import type { EffectiveSandbox } from '../../sandbox/sandbox.types.js';
import type { ProcessEnd } from '../../sandbox/violation.js';
import type { Release, Tool, ToolDefinition, ToolRun } from '../../tool-contract/tool.js';
import { ToolFailure } from '../../tool-contract/tool-outcome.js';
import type { InputValidator } from '../../tools/input-validator.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import type { ProgramFile } from '../entity/tool-revision.entity.js';
import { configurationOf, contentHashOf, type RevisionContent } from '../entity/revision-content.js';
import { tellPoolSpans } from './pool-spans.js';
import { isResultUnknown, mayRepeat, sayResultUnknown } from './safe-repetition.js';
import { cleanNotice, type Redactor } from '../secrets/redactor.js';

export interface RunningBackend {
  readonly pool: ProcessPool;
  readonly workingDir: string;
  /** What is started, links resolved. */
  readonly realPath: string;
  readonly redactor: Redactor;
  /** What holds for its processes; absent: nothing is known of it. */
  readonly effective?: EffectiveSandbox;
  /** The rule of its sandbox that a process was ended for, by how it ended. */
  readonly brokenRule?: (end: ProcessEnd) => string | undefined;
}

/** A pool to run on, or the reason why there is none. */
export type ToolBackend = RunningBackend | { readonly unavailable: string };

/** What runs, as far as it can be told apart. */
export interface RunningRevision {
  /** Its number; stands in the metadata of every execution. */
  readonly revision: number;
  readonly contentHash: string;
  readonly files: readonly ProgramFile[];
  /** How its processes are started; absent where that could not be found out. */
  readonly spec?: ProcessSpec;
}

/** An executable as a Tool. */
export class CustomToolWrapper implements Tool {
  readonly definition: ToolDefinition;

  constructor(
    readonly tool: CustomTool,
    readonly validate: InputValidator,
    readonly backend: ToolBackend,
    readonly running: RunningRevision,
    private readonly tracer: Tracer,
  ) {
    this.definition = definitionOf(tool);
  }

  /** It was built of this very row. */
  isOf({ id, revision }: Pick<CustomTool, 'id' | 'revision'>): boolean {
    return this.tool.id === id && this.tool.revision === revision;
  }

  /** It already does what a wrapper for this row and content would, and its processes start. */
  serves(tool: CustomTool, content: RevisionContent): boolean {
    const starts = 'pool' in this.backend && this.backend.pool.whyUnavailable() === undefined;
    return starts && this.isOf(tool) && this.running.contentHash === contentHashOf(content);
  }

  /** It has processes, and they do what those of this row would, but for what is in the files. */
  runsLike(tool: CustomTool): boolean {
    const settings = (of: CustomTool): string =>
      contentHashOf({ configuration: configurationOf(of), env: of.env, files: [] });
    return 'pool' in this.backend && this.tool.id === tool.id && settings(this.tool) === settings(tool);
  }

  takeSlot(): Release {
    const { name } = this.definition;
    const { backend } = this;
    const why = 'unavailable' in backend ? backend.unavailable : whyUnavailable(backend);
    if ('unavailable' in backend || why !== undefined) {
      throw new Refusal('tool_unavailable', `${name} cannot be started: ${why}`, { retryAfterMs: 30_000 });
    }
    try {
      return backend.pool.takeSlot();
    } catch (error) {
      if (!(error instanceof PoolFailure)) throw error;
      const code = error.reason === 'queue_full' ? 'queue_full' : 'shutting_down';
      throw new Refusal(code, `${name}: ${error.message}`, { retryAfterMs: 1_000 });
    }
  }

  /** Runs a call until it is answered, as often as that is safe. The notes tell of the last try alone. */
  async run(input: unknown, run: ToolRun): Promise<unknown> {
    run.notes.revision = this.running.revision;
    const { backend } = this;
    if ('unavailable' in backend) throw new ToolFailure('spawn_failed', backend.unavailable);
    const { redactor } = backend;
    let written = false;
    for (let attempt = 1; ; attempt++) {
      run.notes.attempts = attempt;
      try {
        const { reply, notes } = await this.request(backend, input, run);
        Object.assign(run.notes, notes);
        const said = 'result' in reply ? reply.result : reply.error.data;
        if (isUnwritable(said, notes.outputBytes ?? 0)) {
          throw new ToolFailure('protocol_error', `The tool's answer ${tooDeep}`);
        }
        if ('result' in reply) return reply.result;
        throw toolError(reply.error, redactor);
      } catch (error) {
        if (!(error instanceof PoolFailure)) throw error;
        written ||= error.written;
        const failure = withoutSecrets(error, redactor);
        if (!this.mayRepeat(failure, attempt, run)) throw this.failed(failure, written, run);
        await delay(this.tool.retryDelayMs, undefined, { signal: run.signal }).catch(() => undefined);
        if (run.signal.aborted) throw this.failed(leftBeforeRetry(failure), written, run);
      }
    }
  }

  private async request(
    { pool, workingDir, redactor }: RunningBackend,
    input: unknown,
    run: ToolRun,
  ): Promise<PoolAnswer> {
    const { executionId, context, deadline, signal, probe, onProgress } = run;
    const runId = context.runId ?? context.requestId;
    const arrivedAt = performance.now();
    try {
      const answer = await pool.execute({
        method: 'execute',
        params: (timeout) => ({ input, context: { runId, executionId, workingDir, timeout } }),
        deadline,
        signal,
        fresh: probe,
        executionId,
        ...(onProgress && { onNotice: (notice) => onProgress(cleanNotice(notice, redactor)) }),
      });
      tellPoolSpans(this.tracer, arrivedAt, answer.notes, 'error' in answer.reply ? 'tool_error' : undefined);
      return answer;
    } catch (error) {
      if (error instanceof PoolFailure) tellPoolSpans(this.tracer, arrivedAt, error.notes, error.reason);
      throw error;
    }
  }

  private mayRepeat(failure: PoolFailure, attempt: number, { deadline, signal }: ToolRun): boolean {
    const { maxRetries, retryDelayMs, annotations } = this.tool;
    return mayRepeat(failure, {
      attempt,
      maxRetries,
      retryDelayMs,
      idempotent: annotations.idempotent,
      remainingMs: deadline.remainingMs(),
      aborted: signal.aborted,
    });
  }

  /** @param written any of the tries may have reached a process */
  private failed(failure: PoolFailure, written: boolean, run: ToolRun): ToolFailure {
    Object.assign(run.notes, failure.notes);
    const rule = this.brokenRule(failure);
    const what = rule === undefined ? failure.message : `The tool was ended by its sandbox: ${rule}`;
    const reason = rule === undefined ? reasonOf(failure) : 'sandbox_violation';
    // Nothing was asked of the tool: it cannot be blamed for the time that was spent on the wait.
    if (reason === 'timeout' && !written) return new ToolFailure(reason, what, { toolFault: false });
    if (!isResultUnknown(written, this.tool.annotations)) return new ToolFailure(reason, what);
    run.notes.resultUnknown = true;
    return new ToolFailure(reason, sayResultUnknown(what, this.tool.annotations));
  }

  private brokenRule({ reason, notes }: PoolFailure): string | undefined {
    if (reason !== 'tool_crashed' || 'unavailable' in this.backend) return undefined;
    return this.backend.brokenRule?.(notes);
  }
}

function toolError({ code, message, data }: ReplyError, redactor: Redactor): ToolFailure {
  return new ToolFailure('tool_error', redactor.clean(message), { code, data: redactor.cleanJson(data) });
}

function whyUnavailable({ pool, redactor }: RunningBackend): string | undefined {
  const why = pool.whyUnavailable();
  return why === undefined ? undefined : redactor.clean(why);
}

function withoutSecrets({ reason, message, notes, written }: PoolFailure, redactor: Redactor): PoolFailure {
  return new PoolFailure(reason, redactor.clean(message), cleanNotes(notes, redactor), written);
}

function cleanNotes(notes: RequestNotes, redactor: Redactor): RequestNotes {
  const { stderrTail, strayLines } = notes;
  return {
    ...notes,
    ...(stderrTail !== undefined && { stderrTail: redactor.clean(stderrTail, { start: true }) }),
    ...(strayLines && { strayLines: redactor.cleanJson(strayLines, { names: false }) as typeof strayLines }),
  };
}

/** The caller went away while a failed call waited for its next try. */
function leftBeforeRetry({ message, notes }: PoolFailure): PoolFailure {
  return new PoolFailure('cancelled', `The caller left before the next try (${message})`, notes);
}

function reasonOf({ reason }: PoolFailure): OutcomeCode {
  // A pool that stops or is full while a call runs is the gateway's doing, not the tool's.
  return reason === 'queue_full' || reason === 'shutting_down' ? 'interrupted' : reason;
}

function definitionOf(tool: CustomTool): ToolDefinition {
  const {
    name,
    description,
    version,
    inputSchema,
    annotations,
    thresholds,
    tags,
    timeoutMs,
    fallback,
    callsPerInvestigation,
    cacheTtlMs,
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
    ...(thresholds !== null && { thresholds }),
    ...(fallback !== null && { fallback }),
    ...(callsPerInvestigation !== null && { callsPerInvestigation }),
    ...(cacheTtlMs !== null && { cacheTtlMs }),
  };
}
