import type { FastifyReply } from 'fastify';
import type { Readable } from 'node:stream';
import type { CallAnswer, CallRequest, CallStart } from '../../web/contract/tool-call.js';
import type { Asks, Question } from '../../web/contract/asks.js';
import type { OpenQuestions } from './open-questions.js';
import { headersOf } from './incoming-call.js';
import { EventRing, type Placed } from '../../base/streams/event-ring.js';
import { problemBody, loggedProblem } from '../../web/rest/problem.filter.js';
import { type ServerSentEvent, sseComment, sseHeaders, SseStream } from '../../base/streams/sse.js';
import type { ToolNotice } from '../../base/common/tool-notice.js';

/** Entries of a stream before its outcome: notices, and questions to answer by `POST /api/v1/questions/{questionId}`. */
type StreamEntry =
  | ToolNotice
  | (Question & { readonly type: 'question'; readonly questionId: string })
  | { readonly type: 'question_withdrawn'; readonly questionId: string };

/** Max notices that wait for a slow client; the oldest are dropped. */
const ringLimits = { maxEntries: 10_000, maxBytes: 262_144 };

/**
 * Runs a call and streams its notices, then its outcome, as server-sent events. The stream begins when the call cannot be
 * refused any more, so that a refusal is answered as without a stream.
 * @param heartbeatMs interval of heartbeats in a quiet stream
 * @throws Refusal for a call that was not run
 */
export async function streamCall(
  run: (request: CallRequest) => Promise<CallAnswer>,
  request: CallRequest,
  reply: FastifyReply,
  heartbeatMs: number,
  questions: OpenQuestions,
): Promise<Readable> {
  const notices = new EventRing<StreamEntry>(ringLimits);
  const live: Asks['live'] = (question, ended) => {
    const to = {
      send: (questionId: string) => void notices.append({ type: 'question', questionId, ...question }),
      withdraw: (questionId: string) => void notices.append({ type: 'question_withdrawn', questionId }),
    };
    return questions.ask(request.principal, to, ended);
  };
  const started = Promise.withResolvers<CallStart>();
  const answer = run({
    ...request,
    ...(request.asks && { asks: { ...request.asks, live } }),
    onStart: started.resolve,
    onProgress: (notice) => void notices.append(notice),
  });
  // A cached answer never starts.
  const startOrAnswer = await Promise.race([started.promise, answer]);
  const headers = headersOf(startOrAnswer);
  void reply.headers({ ...headers, ...sseHeaders });
  const greeting =
    'outcome' in startOrAnswer ? undefined : sseComment(`execution ${startOrAnswer.executionId}`);
  const stream = new SseStream({ ring: notices, place: 0, eventOf, missedEvent }, { greeting }, heartbeatMs);
  const last = answer.then(({ outcome }) => ({ event: 'outcome', data: outcome }));
  finishWith(stream, last, request.context.requestId);
  return stream;
}

/** Ends a stream with the last event of its work, or with a `problem` event if the work fails. */
export function finishWith(
  stream: Pick<SseStream<object>, 'finish'>,
  work: Promise<ServerSentEvent>,
  requestId: string,
): void {
  work
    .catch((error: unknown) => ({ event: 'problem', data: problemOf(error, requestId) }))
    .then((last) => stream.finish(last))
    .catch(() => undefined);
}

function eventOf({ id: _place, type, ...data }: Placed<StreamEntry>): ServerSentEvent {
  return { event: type, data };
}

function missedEvent(notices: number): ServerSentEvent {
  const message = `${notices} notices were left out: the client reads too slowly`;
  return { event: 'log', data: { level: 'warn', message } };
}

/** A failure after the answer has started, with the content of the problem that would have been sent. */
const problemOf = (error: unknown, requestId: string): object =>
  problemBody(loggedProblem(error, requestId), requestId);
