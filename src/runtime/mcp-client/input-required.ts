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

/** Why a question reached no caller; follows the name of the tool. */
const notPassedOn =
  'asked a question that cannot be passed on to this caller: its MCP server asks while the call runs, for which a client of a revision before 2026-07-28 must declare elicitation';
/** Max rounds within one request of a caller; more are a fault of the server. */
const maxRounds = 20;

/** Whether an answer of a server (since 2026-07-28) asks its client something. */
export const isInputRequired = (result: unknown): result is JsonObject =>
  isObject(result) && result['resultType'] === 'input_required';

/**
 * Passes questions of a server on to the caller, and calls the server again with the answers until there is a result.
 * @throws InputRequired if the caller brings the answers with another call; ToolFailure
 */
export async function inRounds(
  asking: JsonObject,
  run: ToolRun,
  call: (next: ToolRun) => Promise<unknown>,
): Promise<unknown> {
  const { asks } = run;
  const asker = asks && isLive(asks) ? new Asker(run, asks) : undefined;
  let result: unknown = asking;
  for (let rounds = 1; isInputRequired(result); rounds++) {
    if (rounds > maxRounds) throw new ToolFailure('protocol_error', `The tool asked ${maxRounds} times`);
    const questions = questionsIn(result['inputRequests'] ?? {});
    const { requestState: state } = result;
    const requestState = typeof state === 'string' ? state : undefined;
    refuseUndeclared(questions, asks);
    if (asks && !asker)
      throw new InputRequired(questions.length > 0 ? Object.fromEntries(questions) : undefined, requestState);
    const inputResponses: Record<string, unknown> = {};
    // Without an asker there are no questions, and the call is only repeated.
    if (asker)
      for (const [key, question] of questions) inputResponses[key] = resultOf(await asker.ask(question));
    const answers = { inputResponses, requestState };
    result = await call({ ...run, begin: undefined, asks: { capabilities: {}, ...asks, answers } });
  }
  return result;
}

/** The questions by key. @throws ToolFailure if they are malformed */
function questionsIn(inputRequests: unknown): [string, Question][] {
  if (!isObject(inputRequests)) throw malformedRequests();
  return Object.entries(inputRequests).map(([key, request]) => {
    if (!isObject(request) || typeof request['method'] !== 'string') throw malformedRequests();
    const { method, params } = request;
    return [key, { method, params: isObject(params) ? params : {} }];
  });
}

const malformedRequests = (): ToolFailure =>
  new ToolFailure('protocol_error', 'The tool asked by inputRequests that are not requests by name');

/** @throws ToolFailure for a question whose capability the caller did not declare */
function refuseUndeclared(questions: readonly [string, Question][], asks: Asks | undefined): void {
  for (const [key, question] of questions) {
    const missing = missingFor(question, asks?.capabilities);
    if (!missing) continue;
    const why = `The tool asks its caller (${key}: ${question.method}), which did not declare ${JSON.stringify(missing)}`;
    throw notAskable(why, { requiredCapabilities: missing });
  }
}

/** The result of a question. An error of the client counts as cancelled. */
const resultOf = (answer: Answered): unknown => ('result' in answer ? answer.result : { action: 'cancel' });

/** The failure of a call. If its caller could not be asked, that becomes the reason. */
export function asUnasked(failure: ToolFailure, tool: string, { notes: { unasked } }: ToolRun): ToolFailure {
  const { message, data, code } = failure;
  // Servers since 2026-07-28 report undeclared capabilities themselves.
  if (code === errorTable.capability_missing.jsonRpc) return notAskable(message, data);
  if (unasked === undefined) return failure;
  const requiredCapabilities = { elicitation: { [unasked]: {} } };
  return notAskable(`${tool} ${notPassedOn}: ${message}`, { requiredCapabilities });
}
