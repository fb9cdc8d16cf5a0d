import { Logger } from '@nestjs/common';
import { UpstreamFailure } from '../../base/outbound/upstream-failure.js';
import type { Principal, Scope } from './principal.js';
import { compileSchema } from '../../base/schemas/schema-compiler.js';
import type { Verdict } from '../../base/schemas/schema-repair.js';
import type { Tool, ToolAnnotations, ToolDefinition, ToolRun } from './tool.js';
import type { JsonSchema } from '../../base/schemas/json-schema.js';
import { ToolFailure } from './tool-outcome.js';

/** One execution of a built-in tool. */
export interface BuiltinRun extends ToolRun {
  /** Aborts at the deadline and when the caller disconnects. */
  readonly signal: AbortSignal;
}

/** Optional members of a built-in tool. */
interface Extras<Input> extends Partial<Omit<ToolDefinition, 'inputSchema' | 'annotations' | 'fallback'>> {
  /** Schema for callers, if a public contract requires a less strict one than `input`. */
  readonly published?: JsonSchema;
  /** Hints; a missing one means the worst case, as in MCP. */
  readonly annotations?: Partial<ToolAnnotations>;
  readonly fallback?: Tool['fallback'];
  /**
   * The name of the service that the tool needs ("Playbook search"). If that fails or is too slow, the call ends as
   * `upstream_unavailable` and the tool's circuit stays closed. Callers see the kind of failure, the log has its message.
   */
  readonly upstream?: string;
  /** The key of a cached result; absent: the input with its defaults. */
  readonly cacheKey?: (input: Input) => unknown;
  readonly onReuse?: Tool['onReuse'];
  readonly asReused?: Tool['asReused'];
  /** A scope that callers need besides `tools:call`; lists omit the tool for others. */
  readonly scope?: Scope;
  /** The reason why a caller may not call it with this input; undefined if it may. */
  readonly refuses?: (input: Input, caller: Principal) => string | undefined;
}

/** Definition of a built-in tool. */
export interface ToolSpec<Input> extends Extras<Input> {
  readonly name: string;
  readonly description: string;
  /** JSON Schema (2020-12) of the input. An absent field gets the `default` of its schema. */
  readonly input: JsonSchema;
  /**
   * Runs a call.
   * @param input valid input, with its defaults
   * @param run its `signal` aborts at the deadline or when the caller disconnects; the call then ends even if `run` does not
   * @returns the result, a JSON value
   * @throws ToolFailure for every expected failure
   */
  readonly run: (input: Input, run: BuiltinRun) => Promise<unknown>;
}

const defaultTimeoutMs = 30_000;
/** Annotations of a tool without hints. */
const worstCase: ToolAnnotations = { readOnly: false, idempotent: false, destructive: true, openWorld: true };
const logger = new Logger('Tools');

/** Creates a built-in tool from its input schema and its function. @throws Error if `input` is not a valid JSON Schema */
export function defineTool<Input extends object>(spec: ToolSpec<Input>): Tool {
  const {
    input: schema,
    published = schema,
    annotations,
    fallback,
    upstream,
    cacheKey,
    onReuse,
    asReused,
    scope,
    refuses,
    run,
    ...definition
  } = spec;
  const unavailable = `${upstream ?? definition.name} is not available`;
  const withDefaults = (input: unknown): Input => ({ ...defaultsIn(schema), ...(input as Input) });
  return {
    definition: {
      kind: 'builtin',
      version: '1.0.0',
      tags: [],
      timeoutMs: defaultTimeoutMs,
      ...definition,
      inputSchema: published,
      annotations: { ...worstCase, ...annotations },
      ...(fallback && { fallback: fallback(unavailable) }),
    },
    ...(fallback && { fallback }),
    ...(onReuse && { onReuse }),
    ...(asReused && { asReused }),
    ...(scope && { isListed: ({ principal }) => principal.scopes.has(scope) }),
    refuses: (input, caller) =>
      scope && !caller.scopes.has(scope)
        ? `${definition.name} needs the scope ${scope}`
        : refuses?.(withDefaults(input), caller),
    validate: validatorOf(schema),
    cacheKey: (input) => (cacheKey ? cacheKey(withDefaults(input)) : withDefaults(input)),
    run: async (input, toolRun) => {
      try {
        return await runUnderDeadline(toolRun, async (boundedRun) => run(withDefaults(input), boundedRun));
      } catch (error) {
        if (upstream === undefined || isOwnFailure(error)) throw error;
        logger.warn({ event: 'upstream_failed', tool: definition.name, error: String(error) }, unavailable);
        throw new ToolFailure('upstream_unavailable', unavailable + kindOf(error));
      }
    },
  };
}

/** The kind of an error in brackets, if it is known. Without the message, which may name hosts. */
function kindOf(error: unknown): string {
  if (error instanceof UpstreamFailure) return ` (${error.kind.replaceAll('_', ' ')})`;
  return error instanceof ToolFailure ? ` (${error.type.replaceAll('_', ' ')})` : '';
}

/** The defaults of a schema's own members; those of nested members do not apply. */
function defaultsIn({ properties }: JsonSchema): object {
  const fields = Object.entries((properties ?? {}) as Record<string, { readonly default?: unknown }>);
  return Object.fromEntries(
    fields.flatMap(([name, field]) => (field.default === undefined ? [] : [[name, field.default]])),
  );
}

/** Max bytes of an input whose problems are all reported. For a larger one only the first is. */
const maxBytesForAll = 65_536;

/** The function that validates inputs, and repairs invalid ones. */
function validatorOf(schema: JsonSchema): (input: unknown, bytes: number) => Verdict {
  const forAllProblems = compileSchema(schema, { allErrors: true });
  // Compiled on demand, because it would make the start of the server a tenth slower.
  let forFirstProblem: ReturnType<typeof compileSchema> | undefined;
  return (input, bytes) => {
    const { problemsOf, repair } =
      bytes <= maxBytesForAll ? forAllProblems : (forFirstProblem ??= compileSchema(schema));
    const problems = problemsOf(input);
    return problems.length === 0 ? problems : repair(input);
  };
}

/** Whether the tool itself reported the failure, or the caller disconnected. */
const isOwnFailure = (error: unknown): boolean => error instanceof ToolFailure && error.type !== 'timeout';

/** Runs work until the deadline. @throws ToolFailure `timeout`, `cancelled` if the caller disconnects; the work's errors */
async function runUnderDeadline(run: ToolRun, work: (run: BuiltinRun) => Promise<unknown>): Promise<unknown> {
  const controller = new AbortController();
  const stopped = Promise.withResolvers<never>();
  const stop = (failure: ToolFailure): void => {
    stopped.reject(failure);
    controller.abort(failure);
  };
  const onTimeout = (): void =>
    stop(new ToolFailure('timeout', `No answer within ${run.deadline.totalMs} ms`));
  const onCallerLeft = (): void =>
    stop(new ToolFailure('cancelled', 'The caller left before the tool ended'));
  const timer = setTimeout(onTimeout, run.deadline.remainingMs());
  run.cancellation.subscribe(onCallerLeft);
  if (run.cancellation.isCancelled) onCallerLeft();
  try {
    return await Promise.race([work({ ...run, signal: controller.signal }), stopped.promise]);
  } finally {
    clearTimeout(timer);
    run.cancellation.unsubscribe(onCallerLeft);
  }
}

/** The schema of a whole number; both bounds are inclusive. */
export function whole(minimum: number, maximum: number, usual: number, description: string): JsonSchema {
  return { type: 'integer', minimum, maximum, default: usual, description };
}

/** The schema of a text that is not blank. */
export function words(maxLength: number, description: string): JsonSchema {
  return { type: 'string', pattern: '\\S', maxLength, description };
}
