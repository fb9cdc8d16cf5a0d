import { readFileSync } from 'node:fs';
import { executeTool, getCustomToolLogs, testCustomTool } from '../../../client/sdk.gen.js';
import type { LogEntryView, OutcomeView } from '../../../client/types.gen.js';
import { isObject } from '../../base/common/json.js';
import { messageOf } from '../../base/common/message-of.js';
import { ask, type Session } from '../api.js';
import { CliError, exit, type Output } from '../output.js';

/** Options of `tool call`. */
interface CallOptions {
  readonly investigation?: string;
  readonly timeout?: number;
  readonly idempotencyKey?: string;
}

/** Calls a tool as an agent does. @throws CliError if the call did not succeed */
export async function call(
  { client, out }: Session,
  name: string,
  input: string,
  options: CallOptions,
): Promise<void> {
  const { investigation: investigationId, timeout: timeoutMs, idempotencyKey } = options;
  const context = { ...(investigationId && { investigationId }), ...(timeoutMs && { timeoutMs }) };
  const request = executeTool({
    client,
    path: { name },
    body: { input: inputOf(input), context },
    ...(idempotencyKey && { headers: { 'idempotency-key': idempotencyKey } }),
  });
  // Without `Prefer: respond-async` the answer is the outcome.
  printOutcome(out, (await ask(request)) as OutcomeView);
}

/** Calls a tool, even a disabled one, without budget, grade and circuit. @throws CliError if the call did not succeed */
export async function test({ client, out }: Session, name: string, input: string): Promise<void> {
  const request = testCustomTool({ client, path: { name }, body: { input: inputOf(input) } });
  printOutcome(out, await ask(request));
}

/** Prints the outcome of a call. @throws CliError if the call did not succeed */
function printOutcome(out: Output, outcome: OutcomeView): void {
  const { status, result, error, executionTimeMs, tool } = outcome;
  if (out.json || status === 'success') {
    out.answer(outcome, () => (typeof result === 'string' ? result : JSON.stringify(result, null, 2)));
    out.note(`${tool}: ${status} in ${executionTimeMs} ms`);
  }
  if (status !== 'success')
    throw new CliError(`${tool} ended with ${error?.type ?? status}: ${error?.message ?? ''}`);
}

/** Options of `tool logs`. */
interface LogsOptions {
  readonly limit: number;
  readonly follow?: boolean;
}

/** Prints the latest lines of a tool's log; with `follow` also new ones, for ever. */
export async function logs({ client, out }: Session, name: string, options: LogsOptions): Promise<void> {
  const { limit, follow } = options;
  const page = await ask(getCustomToolLogs({ client, path: { name }, query: { limit } }));
  const { data: entries, nextSince, partial } = page;
  if (partial) out.note('a replica did not answer: its lines are missing');
  if (!follow) {
    out.answer(entries, () => entries.map((entry) => lineOf(out, entry)).join('\n'));
    return;
  }
  const print = (entry: LogEntryView): void =>
    out.line(out.json ? JSON.stringify(entry) : lineOf(out, entry));
  entries.forEach(print);
  const { stream } = await client.sse.get({
    url: '/api/v1/custom-tools/{name}/logs',
    path: { name },
    headers: { accept: 'text/event-stream' },
    ...(nextSince !== null && { query: { since: nextSince } }),
    onSseEvent: ({ event, data }) => {
      if (event === 'log') print(data);
      else if (event === 'missed') out.note(`lines were left out: ${JSON.stringify(data)}`);
    },
  });
  // `onSseEvent` has printed each event; the loop keeps the stream open.
  for await (const _event of stream);
}

/** A log entry as a line of text. */
function lineOf(out: Output, entry: LogEntryView): string {
  const { timestamp, level, event, message, error, reason, exitCode, signal, pid } = entry;
  const ending = [reason, signal ?? (exitCode === undefined ? '' : `exit code ${exitCode}`)];
  // The message of `terminate`, if any, contains the reason.
  const endTexts = message ? [message] : [error, ...ending];
  const texts = event === 'terminate' ? endTexts : [message, error];
  const text = texts.filter(Boolean).join(', ');
  const head = `${timestamp} ${String(pid ?? '').padStart(7)} ${event.padEnd(9)}`;
  return `${out.styled('dim', head)} ${level === 'error' ? out.styled('red', text) : text}`;
}

/** The JSON object of an argument: its text, `@file`, or `-` for stdin. @throws CliError `usage` */
function inputOf(argument: string): Record<string, unknown> {
  try {
    const file = argument.startsWith('@') ? argument.slice(1) : undefined;
    const source = argument === '-' ? 0 : file;
    const value: unknown = JSON.parse(source === undefined ? argument : readFileSync(source, 'utf8'));
    if (isObject(value)) return value;
    throw new Error('it is not an object');
  } catch (error) {
    throw new CliError(
      `the input must be a JSON object, such as '{"query": "x"}', @file.json, or - for stdin: ${messageOf(error)}`,
      exit.usage,
    );
  }
}
