import { Inject, Injectable } from '@nestjs/common';
import { access } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { Problem } from '../../../base/common/errors.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { type CompiledInput, InputSchemas } from '../../../base/schemas/input-validator.js';
import type { JsonSchema } from '../../../base/schemas/json-schema.js';
import { wrong } from '../../../web/rest/wrong-field.js';
import { isToolName, type McpDefinition, unlistedOutput } from '../../mcp-client/mcp-review.js';
import { stderrMark } from '../../process-pool/failure-messages.js';
import {
  type Handshake,
  PoolFailure,
  type ProcessNews,
  type ProcessSpec,
} from '../../process-pool/pool.types.js';
import { PoolFactory } from '../../process-pool/process-pool.module.js';
import type { Redactor } from '../../secrets/redactor.js';
import { withToken } from '../accounts/process-token.js';
import { checkExecutable } from '../commands/resolve-command.js';
import type { CustomTool, ToolStatus } from '../entity/custom-tool.entity.js';
import { configurationOf, type RevisionContent } from '../entity/revision-content.js';
import type { ProgramFile } from '../entity/tool-revision.entity.js';
import { differences, nameWarning, schemaFaults, scriptFaults, sourceFault } from './author-notes.js';
import { asUnavailable, LaunchPreparation, type PreparedLaunch } from './launch-preparation.js';
import { type Probe, probeExecutable, processLimits } from './probe-executable.js';
import { isScriptName, ProgramFiles } from './program-files.js';
import { ToolSandbox } from './tool-sandbox.js';

/** A prepared launch, with the answers of the executable and its compiled schema. */
export interface Inspection extends PreparedLaunch, Partial<Probe> {
  readonly compiled: { readonly schema: JsonSchema; readonly validate: CompiledInput };
}

/** A server's approved tool, with its compiled schemas. */
export interface CheckedTool {
  readonly validate: CompiledInput;
  /** Absent if there is none, or none that clients can compile. */
  readonly outputSchema?: JsonSchema;
  /** A fault of its schemas that does not prevent calls. */
  warning?: string;
}

/** A server's approved tools by the server's own names; `wrong` says why a tool cannot be called. */
export type McpValidators = ReadonlyMap<string, CheckedTool | { readonly wrong: string }>;

/** A tool as it would be stored and run here. */
export interface ToolPlan {
  readonly tool: CustomTool;
  /** Its status when its row was read; absent for a new tool. */
  readonly readAs?: ToolStatus;
  readonly validate: CompiledInput;
  /** Validators of an MCP server's approved tools. */
  readonly validators: McpValidators;
  /** The executable's answer; absent if it was not started. */
  readonly handshake?: Handshake;
  readonly content: RevisionContent;
  /** Sentences for its author about faults that do not prevent calls. */
  readonly warnings: readonly string[];
  /** How its processes are started, or why they cannot be. */
  readonly start: PreparedLaunch | { readonly unavailable: string };
}

/** Makes a listener for the output of an executable that is started for an inspection. @param redactor for its secrets */
export type MakeListener = (redactor: Redactor) => (news: ProcessNews) => void;

/** Max time spent on the failing schemas of one server: its start and other registrations wait meanwhile. */
const maxFailedMs = 5_000;
/** The reason of a schema that was not compiled because others took too long. */
const notCompiled = (member: string): string =>
  `its ${member} was not tried out: others of this server that cost too much took over ${maxFailedMs} ms`;

/** Whether the inspection did not run because no process slot was free. */
export const couldNotTry = (error: unknown): boolean =>
  error instanceof Problem && error.code === 'tool_unavailable';

/** Finds out what a tool would run, and whether the executable is a tool by starting it once. */
@Injectable()
export class ToolInspector {
  private readonly programFiles: ProgramFiles;

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly preparation: LaunchPreparation,
    private readonly pools: PoolFactory,
    private readonly sandbox: ToolSandbox,
    private readonly schemas: InputSchemas,
  ) {
    this.programFiles = new ProgramFiles(config.root, config.customTools.dir, config.bundles.dir);
  }

  /**
   * Finds out what would run, without starting anything.
   * @param inspected result of `inspect`, if the executable has just answered; it is then started in the same way
   * @param readAs the status of the tool's row when it was read; absent for a new tool
   * @throws Problem `invalid_request` for an invalid schema, or for an executable that was removed meanwhile
   */
  async prepare(tool: CustomTool, inspected?: Inspection, readAs?: ToolStatus): Promise<ToolPlan> {
    if (inspected && !inspected.remote) await checkExecutable(inspected.spec.command);
    const { compiled, handshake } = inspected ?? {};
    const validate =
      compiled?.schema === tool.inputSchema
        ? compiled.validate
        : await this.schemas.compile(tool.inputSchema);
    const validators: McpValidators = tool.definitions ? await this.compileAll(tool.definitions) : new Map();
    const warnings: string[] = [];
    if (inspected && !readAs) warnings.push(...nameWarning(tool, handshake));
    if (inspected) warnings.push(...validate.warnings, ...(await scriptFaults(inspected)));
    return {
      tool,
      validate,
      validators,
      warnings,
      ...(handshake && { handshake }),
      ...(readAs && { readAs }),
      ...(await this.contentOf(tool, inspected)),
    };
  }

  /** The content of a revision of the tool as it is now, and how it would be started. */
  async contentOf(tool: CustomTool, launch?: PreparedLaunch): Promise<Pick<ToolPlan, 'content' | 'start'>> {
    const start = launch ?? (await this.preparation.prepare(tool).catch(asUnavailable));
    const files = 'spec' in start ? await this.programFiles.of(start.spec) : [];
    return { content: { configuration: configurationOf(tool), env: tool.env, files }, start };
  }

  /** The files of a tool's program as they are now. @param spec how its processes are started, if known */
  async filesOf(tool: CustomTool, spec: ProcessSpec | undefined): Promise<readonly ProgramFile[]> {
    const start =
      spec ?? (await this.preparation.prepare(tool, { verifyBundle: false }).catch(asUnavailable));
    if ('unavailable' in start) return [];
    return this.programFiles.of('spec' in start ? start.spec : start);
  }

  /**
   * Starts the executable once, if the registered schema compiles. A server that needs an account is started for `user`,
   * or not at all.
   * @throws Problem `invalid_request` with the reason and the executable's stderr; `tool_unavailable` if no process slot
   * was free
   */
  async inspect(tool: CustomTool, makeListener?: MakeListener, user?: string): Promise<Inspection> {
    const { inputSchema: schema } = tool;
    const compiled = { schema, validate: await this.schemas.compile(schema) };
    const launch = await this.preparation.prepare(tool);
    if (launch.accounts && user === undefined) return { ...launch, compiled };
    const confined = await this.sandbox.confine(tool, launch);
    const { startTimeoutMs } = this.config.customTools;
    try {
      const credential =
        user === undefined || launch.remote ? undefined : launch.accounts?.credentialOf(user);
      const token = await credential?.token();
      const { spec, ...redaction } =
        token === undefined ? { spec: confined.command } : withToken(confined.command, token);
      const limits = { ...processLimits(this.config.customTools, launch.dialect), ...redaction };
      const onNews = makeListener?.(launch.redactor);
      const probed = await this.pools.runOnce(
        startTimeoutMs,
        (start) => probeExecutable(spec, limits, start, { onNews }),
        user === undefined ? launch.remote : launch.remoteFor?.(user),
      );
      return { ...launch, ...(launch.redactor.cleanJson(probed, { names: false }) as Probe), compiled };
    } catch (error) {
      if (!(error instanceof PoolFailure)) throw error;
      if (error.reason === 'timeout') throw new Problem('tool_unavailable', error.message);
      await checkScriptExists(launch);
      throw await failedStart(tool, launch, error, (text) => confined.hint(text, true));
    } finally {
      await confined.dispose();
    }
  }

  /** Sentences about fields in which a registration differs from the executable, and about faults of both schemas. */
  async differences({ tool, validate, handshake = {} }: ToolPlan): Promise<string[]> {
    const faults = [...validate.warnings, ...(await schemaFaults(this.schemas, tool, handshake))];
    return [...differences(tool, handshake), ...new Set(faults)];
  }

  /**
   * Compiles the schemas of a server's approved tools. A bad or too expensive input schema disables its own tool only; a
   * bad output schema is left out.
   */
  private async compileAll(definitions: readonly McpDefinition[]): Promise<McpValidators> {
    const tools = new Map<string, CheckedTool | { readonly wrong: string }>();
    let failedMs = 0;
    /** Runs `work`, unless other schemas took too long. @returns its result, or why the schema cannot be used */
    const compile = async <T>(member: string, work: () => Promise<T>): Promise<T | { wrong: string }> => {
      if (failedMs > maxFailedMs) return { wrong: notCompiled(member) };
      const began = performance.now();
      return work().catch((error: unknown) => {
        if (!(error instanceof Problem) || couldNotTry(error)) throw error;
        failedMs += performance.now() - began;
        return { wrong: `its ${error.detail}` };
      });
    };
    for (const { name, inputSchema, outputSchema } of definitions) {
      if (!isToolName(name)) continue;
      const validate = await compile('inputSchema', () =>
        this.schemas.compile({ ...inputSchema, type: 'object' }),
      );
      if ('wrong' in validate) {
        tools.set(name, validate);
        continue;
      }
      const declared = outputSchema && { type: 'object', ...outputSchema };
      const output = declared && (await compile('outputSchema', () => this.schemas.checkOutput(declared)));
      const unlisted = output && 'wrong' in output ? [`${unlistedOutput}: ${output.wrong}`] : [];
      const warning = [...validate.warnings, ...unlisted].join('; ');
      tools.set(name, {
        validate,
        ...(output && 'schema' in output && { outputSchema: output.schema }),
        ...(warning && { warning }),
      });
    }
    return tools;
  }

  /**
   * Validates a registration by starting its executable once.
   * @returns whether the executable is a tool, all differences from its registration, and warnings of its schema
   * @throws Problem `tool_unavailable` if it could not be tried
   */
  async validate(tool: CustomTool) {
    try {
      const { handshake, compiled } = await this.inspect(tool);
      const { warnings } = compiled.validate;
      return {
        valid: true,
        errors: [],
        differences: [...(handshake ? differences(tool, handshake) : []), ...warnings],
      };
    } catch (error) {
      if (error instanceof Problem && !couldNotTry(error))
        return { valid: false, errors: [error.detail], differences: [] };
      throw error;
    }
  }
}

/** The problem of an executable that failed to start, with its stderr and hints at the cause. */
async function failedStart(
  tool: CustomTool,
  launch: PreparedLaunch,
  { message, notes }: PoolFailure,
  hintAtGrant: (output: string) => string | undefined,
): Promise<Problem> {
  const { redactor, remote, spec } = launch;
  const stderr = redactor.clean(notes.stderrTail?.trim() ?? '', { start: true });
  const hint = runnerHint(tool, message) ?? hintAtGrant(`${message} ${stderr}`);
  const hints = [...(await scriptFaults(launch)), ...(hint === undefined ? [] : [hint])].join('; ');
  const output = stderr && `${stderrMark}${stderr}`;
  const fullReason = `${redactor.clean(message)}${output}${hints && ` (${hints})`}`;
  // Its author knows the files of a bundle by their names there.
  const reason = tool.bundle === null ? fullReason : fullReason.replaceAll(`${spec.cwd}/`, '');
  const field = remote ? 'url' : 'command';
  const fault = sourceFault(stderr);
  return new Problem('invalid_request', `${fault}${field} is not a tool: ${reason}`, {
    errors: [{ pointer: `/${field}`, detail: `is not a tool: ${fault}${reason}` }],
  });
}

/** Reports a missing script itself, because each interpreter has its own error message. */
async function checkScriptExists({ spec, script }: PreparedLaunch): Promise<void> {
  const path = resolve(spec.cwd, spec.args[script ?? -1] ?? '');
  // A name without an extension may be a subcommand.
  if (script === undefined || !isScriptName(path)) return;
  const isThere = await access(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
  if (!isThere) throw wrong(`/args/${script}`, `does not exist: ${path}`);
}

/** Programs that download a package and run it. They write nothing while they wait for the network. */
const runners = new Set(['npx', 'npm', 'pnpm', 'yarn', 'bunx', 'uvx', 'uv', 'pipx']);

/** A hint for a command that may be waiting for the network. */
function runnerHint({ command }: CustomTool, message: string): string | undefined {
  if (!runners.has(basename(command)) || !message.includes('did not answer "initialize"')) return undefined;
  return `${basename(command)} may be downloading: install the package first, and register its program`;
}
