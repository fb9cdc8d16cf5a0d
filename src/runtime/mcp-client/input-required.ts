import { errorTable } from '../../base/common/errors.js';
import { isObject, type JsonObject } from '../../base/common/json.js';
import {
  type Answered,
  Asker,
  type Asks,
  InputRequired,
  isLive,
  missingFor,
  notAskable,
  type Question,
} from '../../web/contract/asks.js';
import type { ToolRun } from '../../web/contract/tool.js';
import { ToolFailure } from '../../web/contract/tool-outcome.js';

const whyUnasked =
  'asked a question that cannot be passed on to this caller: its MCP server asks while the call runs, for which a client of a revision before 2026-07-28 must declare elicitation';
/** Rounds within one request of a caller: a server that asks on is at fault. */
const maxRounds = 20;

/** An answer of a server of 2026-07-28 by which it asks its client. */
export const isInputRequired = (result: unknown): result is JsonObject =>
  isObject(result) && result['resultType'] === 'input_required';

/**
 * Puts the questions of a server to the caller of a call, and calls the server again with the answers until it has a result.
 * @throws InputRequired if the caller brings the answers with another call; ToolFailure
 */
export async function inRounds(
  asking: JsonObject,
  run: ToolRun,
  call: (next: ToolRun) => Promise<unknown>,
): Promise<unknown> {
  const { asks } = run;
  const asker = isLive(asks) ? new Asker(run, asks) : undefined;
  let result: unknown = asking;
  for (let rounds = 1; isInputRequired(result); rounds++) {
    if (rounds > maxRounds) throw new ToolFailure('protocol_error', `The tool asked ${maxRounds} times`);
    const questions = questionsIn(result['inputRequests'] ?? {});
    const { requestState: given } = result;
    const requestState = typeof given === 'string' ? given : undefined;
    refuseUndeclared(questions, asks);
    if (asks && !asker)
      throw new InputRequired(questions.length > 0 ? Object.fromEntries(questions) : undefined, requestState);
    const inputResponses: Record<string, unknown> = {};
    // Without anybody to be asked there is no question: the call is only to be repeated.
    if (asker)
      for (const [key, question] of questions) inputResponses[key] = resultOf(await asker.ask(question));
    const answers = { inputResponses, requestState };
    result = await call({ ...run, begin: undefined, asks: { capabilities: {}, ...asks, answers } });
  }
  return result;
}

function questionsIn(inputRequests: unknown): [string, Question][] {
  if (!isObject(inputRequests)) throw malformed();
  return Object.entries(inputRequests).map(([key, request]) => {
    if (!isObject(request) || typeof request['method'] !== 'string') throw malformed();
    const { method, params } = request;
    return [key, { method, params: isObject(params) ? params : {} }];
  });
}

const malformed = (): ToolFailure =>
  new ToolFailure('protocol_error', 'The tool asked by inputRequests that are not requests by name');

function refuseUndeclared(questions: readonly [string, Question][], asks: Asks | undefined): void {
  for (const [key, question] of questions) {
    const missing = missingFor(question, asks?.capabilities);
    if (!missing) continue;
    const why = `The tool asks its caller (${key}: ${question.method}), which did not declare ${JSON.stringify(missing)}`;
    throw notAskable(why, { requiredCapabilities: missing });
  }
}

/** A client that fails to ask its user has got no answer. */
const resultOf = (answer: Answered): unknown => ('result' in answer ? answer.result : { action: 'cancel' });

/** A call of a tool that failed because its caller could not be asked fails for that. */
export function asUnasked(failure: ToolFailure, tool: string, { notes: { unasked } }: ToolRun): ToolFailure {
  const { message, data, code } = failure;
  // A server of 2026-07-28 refuses by itself to ask what was not declared.
  if (code === errorTable.capability_missing.jsonRpc) return notAskable(message, data);
  if (unasked === undefined) return failure;
  const requiredCapabilities = { elicitation: { [unasked]: {} } };
  return notAskable(`${tool} ${whyUnasked}: ${message}`, { requiredCapabilities });
}
