import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type FieldProblem, Problem, Refusal } from '../common/errors.js';
import { isDeeperThan } from '../common/json-depth.js';
import { messageOf } from '../common/message-of.js';
import { WorkerEnded } from '../common/worker-calls.js';
import type { JsonSchema, Tool } from '../tool-contract/tool.js';
import type { CallRequest } from '../tool-contract/tool-call.js';
import { compileSchema, TooCostly } from '../tool-contract/schema-compiler.js';
import { heapMb, SchemaThread, ThreadBusy } from './schema-thread.js';

export type InputValidator = Tool['validate'];

/** The time that compiling a schema and checking a few inputs may take; the event loop will stand still for as long. */
const compileMs = 50;
const trialMs = 3_000;
/** Bytes of an input × nodes of its schema that are looked at on the event loop. */
const mostOnLoop = 4_000_000;
/**
 * The time that a pass on the event loop may take in spite of that: a schema that refers to itself multiplies its
 * work.
 */
const passOnLoopMs = 10;
/** How long the inputs of a schema that took longer than `passOnLoopMs` are checked in a thread. */
const awayMs = 10_000;
/** The time that a pass in a thread may take, which the thread measures; and when an answer is no longer waited for. */
const passMs = 2_000;
const passAnswerMs = 10_000;
const mostPassesWaiting = 8;
/** The largest input of which every problem is told, up to twenty. */
const mostBytesForAll = 65_536;
const maxSchemaBytes = 65_536;
const maxSchemaDepth = 32;

export interface InputLimits {
  readonly maxBytes: number;
  readonly maxDepth: number;
}

/**
 * Caps on an input's bytes and depth, held before its schema is asked.
 * @returns its bytes, or somewhat more
 * @throws Refusal `payload_too_large` or `invalid_input`, naming the variable that raises the limit
 */
export function refuseOversized({ input, bytesAtMost }: CallRequest, limits: InputLimits): number {
  const { maxBytes, maxDepth } = limits;
  let bytes = bytesAtMost ?? Infinity;
  // Only an input that may be over the cap is measured. Written anew it may have grown: 1e20 becomes 21 digits.
  if (bytes * 6 > maxBytes) {
    bytes = Buffer.byteLength(JSON.stringify(input) ?? '');
    if (bytes > maxBytes) {
      const detail = `input is ${bytes} bytes, the cap is ${maxBytes} (TOOL_INPUT_MAX_BYTES)`;
      throw new Refusal('payload_too_large', detail, { errors: [{ pointer: '/input', detail }] });
    }
  }
  // Each level takes two bytes: what is short is not looked through.
  if (bytes > 2 * maxDepth && isDeeperThan(input, maxDepth)) {
    const detail = `input is nested deeper than ${maxDepth} levels`;
    throw new Refusal('invalid_input', detail, { errors: [{ pointer: '/input', detail }] });
  }
  return bytes;
}

/**
 * Makes validators of schemas that strangers wrote. The cost of a schema and an input together is bounded on the
 * event loop; the rest is done in threads, and given up there when it takes too long.
 */
@Injectable()
export class InputSchemas implements OnApplicationShutdown {
  private readonly trials = new SchemaThread('schema trial', trialMs, Infinity);
  private readonly passes = new SchemaThread('input validation', passAnswerMs, mostPassesWaiting);

  /**
   * Compiles a tool's input schema, once a thread has tried what that costs.
   * @throws Problem `invalid_request` that points at the schema when it is not one, or costs too much;
   *   `tool_unavailable` when the thread does not come to run
   */
  async compile(schema: unknown): Promise<InputValidator> {
    const { schema: checked, text } = await this.tried(schema, 'inputSchema');
    return this.validatorOf(checked, text);
  }

  /**
   * Checks an output schema, which clients compile.
   * @returns the schema without its `$id`: of two that have the same, clients know the first alone
   * @throws as `compile`
   */
  async checkOutput({ $id: _id, ...schema }: JsonSchema): Promise<{ schema: JsonSchema }> {
    if (schema['type'] !== 'object') throw wrong('outputSchema', 'is no schema of an object');
    const { text } = await this.tried(schema, 'outputSchema');
    if (/"\$id":"/.test(text))
      throw wrong('outputSchema', 'holds schemas with an $id, which other schemas may have');
    return { schema };
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.trials.stop(), this.passes.stop()]);
  }

  private async tried(schema: unknown, member: SchemaMember): Promise<{ schema: JsonSchema; text: string }> {
    const checked = checkedSchema(schema, member);
    const isOutput = member === 'outputSchema';
    const tookMs = await this.trials.try({ schema: checked.text, isOutput }).catch((error: unknown) => {
      if (error instanceof ThreadBusy) throw notTried(error, member);
      const costs = whyTooCostly(error, trialMs);
      if (costs) throw wrong(member, `takes ${costs} to compile and to try out: make it smaller`);
      if (error instanceof WorkerEnded) throw error;
      throw wrong(member, `is not a valid JSON Schema: ${messageOf(error)}`);
    });
    if (tookMs > compileMs)
      throw wrong(
        member,
        `takes ${Math.ceil(tookMs)} ms to compile and to try out, the limit is ${compileMs} ms: make it smaller`,
      );
    return checked;
  }

  private validatorOf(schema: JsonSchema, text: string): InputValidator {
    const { nodes, problemsOf } = compileSchema(schema);
    let awayUntil = 0;
    return (input, bytes) => {
      const isSmall = bytes <= mostBytesForAll;
      if (bytes * nodes > mostOnLoop || performance.now() < awayUntil)
        return this.passAway(text, input, isSmall);
      try {
        const first = problemsOf(input, passOnLoopMs);
        // The first problem is known: it is told even where the thread that looks for the others fails.
        return first.length > 0 && isSmall ? this.passAway(text, input, true).catch(() => first) : first;
      } catch (error) {
        if (!(error instanceof TooCostly)) throw notValidated(error);
        awayUntil = performance.now() + awayMs;
        return this.passAway(text, input, isSmall);
      }
    };
  }

  /**
   * @throws Refusal `invalid_input` when it takes too much memory, `queue_full` when too many wait or the thread does not
   *   come to run
   */
  private async passAway(
    schema: string,
    input: unknown,
    allErrors: boolean,
  ): Promise<readonly FieldProblem[]> {
    try {
      return await this.passes.pass({ schema, input: JSON.stringify(input), allErrors, withinMs: passMs });
    } catch (error) {
      const { reason } = error as Partial<WorkerEnded>;
      if (error instanceof ThreadBusy || reason === 'timed_out')
        throw new Refusal('queue_full', messageOf(error), { retryAfterMs: passMs });
      if (reason === 'stopped')
        throw new Refusal('shutting_down', 'The server is stopping', { retryAfterMs: passMs });
      if (!(error instanceof WorkerEnded)) throw notValidated(error);
      if (!error.isOutOfMemory) throw error;
      // Its problems may be too many to hold: the first is told.
      if (allErrors) return this.passAway(schema, input, false);
      throw invalid(`takes more than ${heapMb} MB of memory to validate: make it smaller`);
    }
  }
}

type SchemaMember = 'inputSchema' | 'outputSchema';

function checkedSchema(schema: unknown, member: SchemaMember): { schema: JsonSchema; text: string } {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    throw wrong(member, 'must be a JSON Schema object');
  if (isDeeperThan(schema, maxSchemaDepth))
    throw wrong(member, `is nested deeper than ${maxSchemaDepth} levels`);
  const text = JSON.stringify(schema);
  const bytes = Buffer.byteLength(text);
  if (bytes > maxSchemaBytes) throw wrong(member, `is ${bytes} bytes, the cap is ${maxSchemaBytes}`);
  return { schema: schema as JsonSchema, text };
}

/** A schema that makes its validator throw is the tool's fault, and no failure of the gateway. */
function notValidated(error: unknown): Refusal {
  return invalid(`cannot be validated with the tool's schema: ${messageOf(error)}`);
}

/** The exceeded limit (time or memory) for which a thread was ended. */
function whyTooCostly(error: unknown, limitMs: number): string | undefined {
  if (!(error instanceof WorkerEnded)) return undefined;
  if (error.reason === 'timed_out') return `more than ${limitMs} ms`;
  return error.isOutOfMemory ? `more than ${heapMb} MB of memory` : undefined;
}

/** The machine is busy, which says nothing about the schema. */
const notTried = (error: ThreadBusy, member: SchemaMember): Problem =>
  new Problem('tool_unavailable', `${member} could not be tried out: ${error.message}`, {
    retryAfterMs: 10_000,
  });

function invalid(detail: string): Refusal {
  return new Refusal('invalid_input', `input ${detail}`, { errors: [{ pointer: '/input', detail }] });
}

function wrong(member: SchemaMember, detail: string): Problem {
  const errors = [{ pointer: `/${member}`, detail }];
  return new Problem('invalid_request', `${member} ${detail}`, { errors });
}
