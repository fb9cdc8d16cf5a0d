import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { randomUUID } from 'node:crypto';
import { Problem } from '../../base/common/errors.js';
import { isObject } from '../../base/common/json.js';
import { OpenQuestions } from '../../call/door/open-questions.js';
import { principalOf } from '../../web/auth/principal.decorator.js';
import {
  type Answered,
  type Asks,
  type InputRequired,
  missingFor,
  modeOf,
  type Question,
} from '../../web/contract/asks.js';
import { type Answer, errorOf, notificationOf, type Message } from './mcp-messages.js';
import {
  acceptsStream,
  answerWith,
  ignoring,
  type Incoming,
  type Params,
  sessionHeader,
} from './mcp-methods.js';

/** Modes of MCP's elicitation. */
const modes = ['form', 'url'] as const;
const capabilitiesMember = 'io.modelcontextprotocol/clientCapabilities';
/** Client capabilities that let a server send requests. */
const askingCapabilities = ['elicitation', 'sampling', 'roots'];

/** How a call can ask its MCP client: live over the call's stream (until 2025-11-25), or in rounds (2026-07-28). */
@Injectable()
export class McpAsks {
  constructor(private readonly questions: OpenQuestions) {}

  /**
   * Session id for a client that began with `initialize`. It carries the declared elicitation modes, because the server
   * stores no session; it grants no rights.
   */
  sessionFor({ capabilities }: Params): string {
    const { elicitation } = isObject(capabilities) ? capabilities : {};
    if (!isObject(elicitation)) return randomUUID();
    const declared = modes.filter((mode) => mode in elicitation);
    return [randomUUID(), ...(declared.length > 0 ? declared : ['form'])].join('.');
  }

  /** How a call can ask its client; undefined if it cannot. @param send puts a message on the stream that answers the call */
  forCall({ message, isModern, request }: Incoming, send: (message: Message) => void): Asks | undefined {
    if (isModern) return roundsOf(message.params ?? {});
    const [, ...declaredModes] = String(request.headers[sessionHeader] ?? '').split('.');
    if (declaredModes.length === 0 || !acceptsStream(request)) return undefined;
    const elicitation = Object.fromEntries(declaredModes.map((mode) => [mode, {}]));
    const live: Asks['live'] = (question, over) => {
      const client = {
        send: (id: string) => send({ jsonrpc: '2.0', id, ...asLegacy(question, id) }),
        withdraw: (requestId: string) => send(notificationOf('notifications/cancelled', { requestId })),
      };
      return this.questions.ask(principalOf(request), client, over);
    };
    return { capabilities: { elicitation }, live };
  }

  /** Delivers a client's answer; drops it if no call waits for it any more. */
  async deliverAnswer(request: FastifyRequest): Promise<void> {
    const { id, result, error } = request.body as { id?: unknown; result?: unknown; error?: unknown };
    if (typeof id !== 'string') return;
    const answer = (error === undefined ? { result } : { error }) as Answered;
    await this.questions.answer(principalOf(request), id, answer).catch(ignoring('not_found'));
  }
}

/**
 * The way to ask a client of 2026-07-28: each request declares its capabilities and is repeated with the answers.
 * @throws Problem `invalid_request`
 */
export function roundsOf({ _meta, inputResponses = {}, requestState }: Params): Asks {
  const declared = isObject(_meta) ? _meta[capabilitiesMember] : undefined;
  const entries = Object.entries(isObject(declared) ? declared : {});
  const capabilities = Object.fromEntries(entries.filter(([name]) => askingCapabilities.includes(name)));
  if (requestState === undefined) return { capabilities };
  if (typeof requestState !== 'string') throw new Problem('invalid_request', 'requestState must be a string');
  if (!isObject(inputResponses)) throw new Problem('invalid_request', 'inputResponses must be an object');
  return { capabilities, answers: { inputResponses, requestState } };
}

/** The result of a call whose tool asks its client. */
export const askingResult = ({ inputRequests, requestState }: InputRequired): object => ({
  ...(inputRequests && { inputRequests }),
  requestState,
});

/** Key of the question about a sign-in, by which the client answers it. */
const signInKey = 'sign_in';
/** MCP's error code for a request that needs a visit to a URL first. */
const urlNeeded = -32042;

/** The sign-in refusal as a URL question. Undefined if it has no URL, the client cannot show one, or the user declined. */
export function signInQuestion(
  incoming: Incoming,
  { detail: message, details: { signInUrl: url } }: Problem,
  asks: Asks | undefined,
): Answer | undefined {
  const question = { method: 'elicitation/create', params: { mode: 'url', message, url } };
  if (url === undefined || missingFor(question, asks?.capabilities)) return undefined;
  const { id, params = {} } = incoming.message;
  if (!incoming.isModern)
    return errorOf(id, urlNeeded, message, {
      elicitations: [{ ...question.params, elicitationId: randomUUID() }],
    });
  const { [signInKey]: response } = isObject(params['inputResponses']) ? params['inputResponses'] : {};
  if (isObject(response) && response['action'] !== 'accept') return undefined;
  return answerWith(incoming, { inputRequests: { [signInKey]: question } }, 'input_required');
}

/** A question as clients before 2026-07-28 read it: a URL question carries its own id. */
const asLegacy = ({ method, params }: Question, id: string): Question =>
  modeOf(params) === 'url' ? { method, params: { elicitationId: id, ...params } } : { method, params };
