import { Logger } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Readable } from 'node:stream';
import { asProblem, problemBody } from '../common/problem.filter.js';
import { sseHeaders } from '../common/sse.js';
import type { CallAnswer, CallRequest, CallStart } from '../tool-contract/tool-call.js';
import { headersOf } from './answer-headers.js';
import { EventStream } from './event-stream.js';

/**
 * Runs a call and gives its notices, then its outcome, as server-sent events. The stream begins when the call can no
 * longer be refused, so that a refusal answers as it does without a stream.
 * @param heartbeatMs how often a quiet stream says that it lives
 * @throws Refusal for a call that was not run
 */
export async function streamCall(
  run: (request: CallRequest) => Promise<CallAnswer>,
  request: CallRequest,
  reply: FastifyReply,
  heartbeatMs: number,
): Promise<Readable> {
  const stream = new EventStream(heartbeatMs);
  try {
    const headers = headersOf(await begin(run, request, stream));
    if (headers) void reply.headers(headers);
  } catch (error) {
    stream.destroy();
    throw error;
  }
  void reply.headers(sseHeaders);
  return stream;
}

/** @returns what is known of the answer as soon as the call runs; the rest of it happens in the stream */
function begin(
  run: (request: CallRequest) => Promise<CallAnswer>,
  request: CallRequest,
  stream: EventStream,
): Promise<Pick<CallAnswer, 'budget' | 'replayed'>> {
  return new Promise((resolve, reject) => {
    let begun = false;
    const onStart = ({ executionId, budget }: CallStart): void => {
      begun = true;
      stream.comment(`execution ${executionId}`);
      resolve({ budget });
    };
    run({ ...request, onStart, onProgress: (notice) => stream.notice(notice) })
      .then((answer) => {
        resolve(answer);
        begun = true;
        stream.finish('outcome', answer.outcome);
      })
      .catch((error: Error) => {
        if (begun) stream.finish('problem', problemOf(error, request));
        else reject(error);
      });
  });
}

/** What failed when the answer had begun already; the outside learns what a problem of its own would tell. */
function problemOf(error: unknown, { context }: CallRequest): object {
  const problem = asProblem(error);
  if (problem.code === 'internal_error') new Logger('CallStream').error(error);
  return problemBody(problem, context.requestId);
}
