import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Problem, Refusal } from '../common/errors.js';
import { isDeeperThan } from '../common/json-depth.js';
import { messageOf } from '../common/message-of.js';
import { WorkerEnded } from '../common/worker-calls.js';
import type { JsonSchema } from './json-schema.js';
import { type CompiledSchema, compileSchema } from './schema-compiler.js';
import type { Verdict } from './schema-repair.js';
import { heapMb, limitMs, type TestResult, SchemaThread, ThreadBusy } from './schema-thread.js';

/**
 * Checks an input against a schema. An invalid input is repaired if its meaning is certain.
 * @param bytes size of the input's JSON, or somewhat more
 * @param caller id of the caller; each may have only a few waiting inputs
 * @throws Refusal if the check would take too long
 */
export type InputValidator = (input: unknown, bytes: number, caller?: string) => Verdict | Promise<Verdict>;

/** A compiled schema with its validator. */
export interface CompiledInput extends InputValidator {
  readonly schema: JsonSchema;
  /** Sentences about members that were dropped or reinterpreted. */
  readonly warnings: readonly string[];
}

/** An input with an upper bound of its size, if known. */
interface SizedInput {
  readonly input: unknown;
  readonly bytesAtMost?: number;
}

/** The member of a tool's definition that is a schema. */
type SchemaMember = 'inputSchema' | 'outputSchema';

/** Max product of input bytes and schema cost for a check on the event loop. */
const maxOnLoop = 4_000_000;
/** Max product of the two for finding and repairing all problems on the event loop. */
const maxRepairOnLoop = 200_000;
/** Max inputs of one caller that wait for the thread. */
const maxPerCaller = 4;
/** Max inputs that wait for the thread. */
const maxWaiting = 8;
/** Max bytes of an input whose problems are all reported, up to twenty. */
const maxBytesForAll = 65_536;
/** Max ratio of an input's JSON to the text that was sent: `1e20` is written with 21 digits. */
const maxGrowth = 6;
/** Pause after which a test that the busy machine did not run may be repeated. */
const testRetryMs = 10_000;
const maxSchemaBytes = 65_536;
const maxSchemaDepth = 32;

/** Limits of a tool's input: its size as JSON, and its levels of nesting. */
interface InputLimits {
  readonly maxBytes: number;
  readonly maxDepth: number;
}

/**
 * Refuses an input with too many bytes or levels, before its schema is checked.
 * @returns its bytes, or somewhat more
 * @throws Refusal `payload_too_large` or `invalid_input`, naming the variable that raises the limit
 */
export function refuseOversized({ input, bytesAtMost }: SizedInput, limits: InputLimits): number {
  const { maxBytes, maxDepth } = limits;
  let bytes = bytesAtMost ?? Infinity;
  // Measures only an input that may exceed the limit.
  if (bytes * maxGrowth > maxBytes) {
    bytes = Buffer.byteLength(JSON.stringify(input) ?? '');
    if (bytes > maxBytes) {
      const detail = `input is ${bytes} bytes, the cap is ${maxBytes} (TOOL_INPUT_MAX_BYTES)`;
      throw new Refusal('payload_too_large', detail, { errors: [{ pointer: '/input', detail }] });
    }
  }
  // Each level takes two bytes, so a short input needs no check.
  if (bytes > 2 * maxDepth && isDeeperThan(input, maxDepth)) {
    const detail = `input is nested deeper than ${maxDepth} levels`;
    throw new Refusal('invalid_input', detail, { errors: [{ pointer: '/input', detail }] });
  }
  return bytes;
}

/**
 * Makes validators from untrusted schemas. Small inputs of simple schemas are checked on the event loop, all others in a
 * thread, which is ended if a check takes too long.
 */
@Injectable()
export class InputSchemas implements OnApplicationShutdown {
  private readonly tests = new SchemaThread('schema test');
  private readonly validations = new SchemaThread('input validation', maxPerCaller, maxWaiting);

  /**
   * Compiles a tool's input schema, after a test in a thread.
   * @throws Problem `invalid_request` that points at the schema if it is invalid or costs too much;
   *   `tool_unavailable` if the thread does not start
   */
  async compile(given: unknown): Promise<CompiledInput> {
    const { schema, cost, warnings } = await this.test(given, 'inputSchema');
    const text = JSON.stringify(schema);
    const compiled = cost < Infinity ? compileSchema(schema) : undefined;
    // Compiled on demand, because most inputs are valid.
    let allProblems: CompiledSchema | undefined;
    const validate: InputValidator = (input, bytes, caller) => {
      const isSmall = bytes <= maxBytesForAll;
      if (!compiled || bytes * cost > maxOnLoop) return this.validateInThread(text, input, isSmall, caller);
      const first = guarded(() => compiled.problemsOf(input));
      if (first.length === 0) return first;
      if (isSmall && bytes * cost <= maxRepairOnLoop) {
        allProblems ??= compileSchema(schema, { allErrors: true });
        const { repair } = allProblems;
        return guarded(() => repair(input));
      }
      // Reports the first problem if the thread that finds the others fails.
      return this.validateInThread(text, input, isSmall, caller).catch(() => first);
    };
    return Object.assign(validate, { schema, warnings });
  }

  /**
   * Checks an output schema, which clients compile.
   * @returns the schema without its `$id`, because clients confuse two schemas with the same one
   * @throws what `compile` throws
   */
  async checkOutput({ $id: _id, ...schema }: JsonSchema): Promise<{ schema: JsonSchema }> {
    await this.test(schema, 'outputSchema');
    if (/"\$id":"/.test(JSON.stringify(schema)))
      throw invalidSchema('outputSchema', 'holds schemas with an $id, which other schemas may have');
    return { schema };
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.tests.stop(), this.validations.stop()]);
  }

  private test(given: unknown, member: SchemaMember): Promise<TestResult> {
    const schema = checkedText(given, member);
    return this.tests.send({ schema, isOutput: member === 'outputSchema' }).catch((error: unknown) => {
      // The machine is busy, so the schema could not be tested.
      if (error instanceof ThreadBusy)
        throw new Problem('tool_unavailable', `${member} could not be tested: ${error.message}`, {
          retryAfterMs: testRetryMs,
        });
      const costs = exceededLimit(error);
      if (costs) throw invalidSchema(member, `takes ${costs} to compile and to try out: make it smaller`);
      if (error instanceof WorkerEnded) throw error;
      throw invalidSchema(member, `is not a valid JSON Schema: ${messageOf(error)}`);
    });
  }

  /**
   * Validates in the thread.
   * @throws Refusal `invalid_input` if that takes too much time or memory, `queue_full` if the thread is busy or not started
   */
  private async validateInThread(
    schema: string,
    input: unknown,
    allErrors: boolean,
    caller: string | undefined,
  ): Promise<Verdict> {
    try {
      return await this.validations.send({ schema, input: JSON.stringify(input), allErrors }, caller);
    } catch (error) {
      if (error instanceof ThreadBusy)
        throw new Refusal('queue_full', messageOf(error), { retryAfterMs: limitMs });
      if (!(error instanceof WorkerEnded)) throw notValidated(error);
      if (error.reason === 'stopped')
        throw new Refusal('shutting_down', 'The server is stopping', { retryAfterMs: limitMs });
      const costs = exceededLimit(error);
      if (!costs) throw error;
      // Finding only the first problem takes less.
      if (allErrors) return this.validateInThread(schema, input, false, caller);
      throw invalidInput(`takes ${costs} to validate: make it smaller`);
    }
  }
}

/** A schema as JSON. @throws Problem `invalid_request` if it is no object or too large */
function checkedText(schema: unknown, member: SchemaMember): string {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    throw invalidSchema(member, 'must be a JSON Schema object');
  if (isDeeperThan(schema, maxSchemaDepth))
    throw invalidSchema(member, `is nested deeper than ${maxSchemaDepth} levels`);
  const text = JSON.stringify(schema);
  const bytes = Buffer.byteLength(text);
  if (bytes > maxSchemaBytes) throw invalidSchema(member, `is ${bytes} bytes, the cap is ${maxSchemaBytes}`);
  return text;
}

/** Runs a compiled validator. @throws Refusal if it throws */
function guarded<T extends Verdict>(validate: () => T): T {
  try {
    return validate();
  } catch (error) {
    throw notValidated(error);
  }
}

/** The refusal for a schema whose validator throws, which is the tool's fault. */
const notValidated = (error: unknown): Refusal =>
  invalidInput(`cannot be validated with the tool's schema: ${messageOf(error)}`);

/** The limit of time or memory for which a thread was ended; undefined if it ended for another reason. */
function exceededLimit(error: unknown): string | undefined {
  if (!(error instanceof WorkerEnded)) return undefined;
  if (error.reason === 'timed_out') return `more than ${limitMs} ms`;
  return error.isOutOfMemory ? `more than ${heapMb} MB of memory` : undefined;
}

function invalidInput(detail: string): Refusal {
  return new Refusal('invalid_input', `input ${detail}`, { errors: [{ pointer: '/input', detail }] });
}

function invalidSchema(member: SchemaMember, detail: string): Problem {
  const errors = [{ pointer: `/${member}`, detail }];
  return new Problem('invalid_request', `${member} ${detail}`, { errors });
}
