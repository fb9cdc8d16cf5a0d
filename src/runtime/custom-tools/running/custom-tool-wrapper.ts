import type { Tracer } from '../../../base/observability/tracing/tracer.js';
import type { ProcessSpec } from '../../process-pool/pool.types.js';
import type {
  Caller,
  Slot,
  Tool,
  ToolDefinition,
  ToolRun,
  Unavailability,
} from '../../../web/contract/tool.js';
import type { CompiledInput } from '../../../base/schemas/input-validator.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import type { ProgramFile } from '../entity/tool-revision.entity.js';
import {
  configurationOf,
  contentHashOf,
  processHashOf,
  type RevisionContent,
} from '../entity/revision-content.js';
import type { ToolPlan } from '../launch/tool-inspector.js';
import { inSlot, PoolCalls } from './pool-calls.js';
import type { ToolBackend } from './tool-backend.js';

/** Identity of a running revision. */
export interface RunningRevision {
  /** Number of the revision, recorded in the metadata of every execution. */
  readonly revision: number;
  readonly contentHash: string;
  /** The content hash without an MCP server's approved definitions, which do not affect its processes. */
  readonly processHash: string;
  readonly files: readonly ProgramFile[];
  /** How its processes are started; absent if that could not be determined. */
  readonly spec?: ProcessSpec;
}

/**
 * The identity of a revision.
 * @param canRun false: all its files count as changed at the next check, so that it is tried again
 */
export const runningRevision = (
  revision: number,
  content: RevisionContent,
  start: ToolPlan['start'],
  canRun: boolean,
): RunningRevision => ({
  revision,
  contentHash: contentHashOf(content),
  processHash: processHashOf(content),
  files: canRun ? content.files : [],
  ...('spec' in start && { spec: start.spec }),
});

/** A custom tool as a Tool that is called: an executable; its subclass is an MCP server. */
export class CustomToolWrapper implements Tool {
  readonly definition: ToolDefinition;
  readonly waitsForProcess = true;
  readonly capture: Tool['capture'];
  /** Equal at all replicas, but different for a tool that was registered again. */
  readonly revision: string;
  protected readonly calls: PoolCalls;

  constructor(
    readonly tool: CustomTool,
    readonly validate: CompiledInput,
    readonly backend: ToolBackend,
    readonly running: RunningRevision,
    tracer: Tracer,
  ) {
    this.definition = { ...definitionOf(tool), inputSchema: validate.schema };
    this.calls = new PoolCalls(tool, backend, running.revision, tracer);
    this.capture = captureOf(tool);
    this.revision = `${tool.id}/${tool.revision}`;
  }

  /** Tools that this entry exposes: one, or an MCP server's approved tools. */
  offered(): readonly Tool[] {
    return [this];
  }

  /** Warnings for operators about the tools that it offers. */
  warnings(): readonly string[] {
    return this.validate.warnings.map((warning) => `${this.tool.name}: ${warning}`);
  }

  /** Whether it was built from this revision of the row. */
  isOf({ id, revision }: Pick<CustomTool, 'id' | 'revision'>): boolean {
    return this.tool.id === id && this.tool.revision === revision;
  }

  /** Whether it already runs this row and content, and its processes start. */
  alreadyRuns(tool: CustomTool, content: RevisionContent): boolean {
    const starts = 'pool' in this.backend && !this.backend.pool.lastStartFailed;
    return starts && this.isOf(tool) && this.running.contentHash === contentHashOf(content);
  }

  /** Whether it runs with the settings of this row; the files may differ. */
  runsSettingsOf(tool: CustomTool): boolean {
    const settings = (row: CustomTool): string =>
      contentHashOf({ configuration: configurationOf(row), env: row.env, files: [] });
    return 'pool' in this.backend && this.tool.id === tool.id && settings(this.tool) === settings(tool);
  }

  redact(value: unknown): unknown {
    return this.calls.cleanJson(value);
  }

  /** Redacts the values of its environment in a text. */
  clean(text: string): string {
    return this.calls.clean(text);
  }

  unavailable = (): Unavailability | undefined => this.calls.unavailable();

  takeSlot(caller: Caller): Slot {
    const workingDir = 'pool' in this.backend ? this.backend.workingDir : '';
    return this.calls.takeSlot(caller, (input, { executionId, context, probe }) => {
      const runId = context.runId ?? context.requestId;
      const params = (timeout: number): object => ({
        input,
        context: { runId, executionId, workingDir, timeout },
      });
      return { params, annotations: this.tool.annotations, needsFreshProcess: probe };
    });
  }

  /** Takes a slot and runs a call in it. */
  run(input: unknown, run: ToolRun): Promise<unknown> {
    return inSlot(this.takeSlot(run), input, run);
  }
}

/** The executions of a tool whose input and answer are stored; undefined if none are. */
export const captureOf = ({ capture }: CustomTool): Tool['capture'] =>
  capture === 'none' ? undefined : capture;

/** The definition of a registered tool. */
export function definitionOf(tool: CustomTool): ToolDefinition {
  const { thresholds, fallback, callsPerInvestigation, cacheTtlMs } = tool;
  return {
    kind: 'custom',
    name: tool.name,
    description: tool.description,
    version: tool.version,
    inputSchema: tool.inputSchema,
    annotations: tool.annotations,
    tags: tool.tags,
    timeoutMs: Math.min(tool.timeoutMs, tool.sandbox?.maxExecutionMs ?? Infinity),
    semanticErrors: tool.semanticErrors,
    ...(thresholds !== null && { thresholds }),
    ...(fallback !== null && { fallback }),
    ...(callsPerInvestigation !== null && { callsPerInvestigation }),
    ...(cacheTtlMs !== null && { cacheTtlMs }),
  };
}
