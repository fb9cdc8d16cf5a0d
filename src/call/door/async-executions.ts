import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { setTimeout as delay } from 'node:timers/promises';
import type { Readable } from 'node:stream';
import { unauthorized } from '../../web/auth/access-policy.js';
import { holderOf } from '../../web/auth/call-rates.js';
import { KnownKeys } from '../../web/auth/known-keys.js';
import { holderIn, principalOf } from '../../web/auth/principal.decorator.js';
import { backOff } from '../../base/common/back-off.js';
import { Cancellation } from '../../base/common/cancellation.js';
import { canonicalJson, sha256 } from '../../base/common/canonical-json.js';
import { Problem, type ProblemCode } from '../../base/common/errors.js';
import type { JsonObject } from '../../base/common/json.js';
import { idOf, isUuid, newId } from '../../base/common/ids.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { Jobs } from '../../base/jobs/jobs.js';
import type { StoredJob } from '../../base/jobs/queue.js';
import { WebhookQueue } from '../../base/jobs/webhook-queue.js';
import { problemBody } from '../../web/rest/problem.filter.js';
import { EventRing } from '../../base/streams/event-ring.js';
import { OpenStreams } from '../../base/streams/open-streams.js';
import { acceptsEvents, type ServerSentEvent, sseHeaders } from '../../base/streams/sse.js';
import { InputRequired, maxAskedMs } from '../../web/contract/asks.js';
import { callerIdOf } from '../../web/contract/principal.js';
import type { CallRequest } from '../../web/contract/tool-call.js';
import { CallRounds } from './call-rounds.js';
import { finishWith } from './call-stream.js';
import { Door } from './door.js';
import {
  type OpenRound,
  askingStatus,
  dataOf,
  type JobData,
  type JobOutput,
  queuedCallOf,
  type QueuedCall,
  nextRound,
  retryLimit,
  unansweredOutcome,
  viewOf,
} from './queued-calls.js';
import type { AsyncExecutionView, WaitQuery } from './tools.dto.js';
import { incomingCall, webhookUrlIn } from './incoming-call.js';

const queueName = 'executions';
const daySeconds = 86_400;
/** Min time for which a queued call can be read after its submission, in milliseconds. */
export const storedMs = daySeconds * 1_000;
/** Refusals after which a queued call tries again at this replica. */
const retriedHere: ReadonlySet<ProblemCode> = new Set(['queue_full', 'recorder_full', 'conflict']);
/** Refusals after which another replica runs the call. */
const leftToOthers: ReadonlySet<ProblemCode> = new Set(['shutting_down', 'database_unavailable']);
const defaultRetryPauseMs = 1_000;
/** Pauses between two reads of an execution for a client that waits for its end. */
const pollPauses = { firstMs: 25, maxMs: 500 };

/** Calls that are run later, by any replica: queued, polled, followed, cancelled. */
@Injectable()
export class AsyncExecutions {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'customTools' | 'builtinTools' | 'server'>,
    private readonly door: Door,
    private readonly rounds: CallRounds,
    private readonly jobs: Jobs,
    private readonly webhooks: WebhookQueue,
    private readonly keys: KnownKeys,
    private readonly streams: OpenStreams,
  ) {
    jobs.add({
      name: queueName,
      options: {
        retryLimit,
        retryDelay: 1,
        heartbeatSeconds: 10,
        expireInSeconds: daySeconds - 1,
        retentionSeconds: daySeconds,
        deleteAfterSeconds: daySeconds,
      },
      concurrency: Math.max(1, Math.floor(config.customTools.maxProcesses / 2)),
      run: (job, cancellation) => this.runJob(job, cancellation),
    });
  }

  /** Queues the call in a request and answers 202. @throws what `queue` throws */
  async submit(request: FastifyRequest, reply: FastifyReply): Promise<AsyncExecutionView> {
    const takesWebhook = true;
    const call = incomingCall(request, takesWebhook);
    const view = await this.queue(call, webhookUrlIn(request.body, this.config.builtinTools));
    const location = `${this.config.server.publicPath}/api/v1/executions/${view.id}`;
    void reply.status(202).headers({ location, 'preference-applied': 'respond-async' });
    return view;
  }

  /**
   * Queues a call; several calls with the same Idempotency-Key are queued once.
   * @throws Refusal for a call that would be refused now; Problem `queue_full`, `idempotency_key_reused`,
   *   `database_unavailable`
   */
  async queue(call: CallRequest, webhookUrl?: string): Promise<AsyncExecutionView> {
    await this.door.accept(call);
    const { tool, input, context, principal, idempotencyKey, asks } = call;
    const caller = callerIdOf(principal);
    const { userId, projectId } = context;
    const keyParts = [caller, userId, projectId, tool, idempotencyKey];
    // Each round of a call that asks its caller is a job of its own.
    const round = asks?.answers ? [asks.answers.requestState] : [];
    const id = idempotencyKey ? idOf(JSON.stringify([...keyParts, ...round])) : newId();
    if (asks?.answers) await this.rounds.claimRound(call, asks.answers);
    const inputHash = sha256(canonicalJson(input));
    const data = { tool, caller, inputHash, webhookUrl, call: JSON.stringify(queuedCallOf(call)) };
    await this.jobs.submit(queueName, id, data, holderOf(call));
    const job = await this.find(id, caller);
    if (dataOf(job).inputHash !== inputHash)
      throw new Problem(
        'idempotency_key_reused',
        `This Idempotency-Key was used for a call of ${tool} with another input`,
      );
    return viewOf(job);
  }

  /** One execution. @throws Problem `not_found` if it is of another caller or no longer stored */
  async get(id: string, request: FastifyRequest): Promise<AsyncExecutionView> {
    return viewOf(await this.find(id, callerIdOf(principalOf(request))));
  }

  /**
   * One execution: at once, after a wait for its end of at most `waitMs`, or as an event stream.
   * @throws Problem `not_found` if it is of another caller or no longer stored
   */
  async view(
    id: string,
    { waitMs = 0 }: WaitQuery,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<AsyncExecutionView | Readable> {
    const view = await this.get(id, request);
    if (request.method === 'GET' && acceptsEvents(request.headers)) return this.follow(view, request, reply);
    if (waitMs === 0 || view.endedAt !== null) return view;
    const release = this.streams.take('long waits', holderIn(request));
    const { signal } = request.cancellation ?? new AbortController();
    const end = AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
    return this.untilSettled(view, request, end).finally(release);
  }

  /** Waits until the execution ends, asks its caller, or `wait` is aborted. @returns its latest state */
  async untilSettled(
    view: AsyncExecutionView,
    request: FastifyRequest,
    wait: AbortSignal,
  ): Promise<AsyncExecutionView> {
    let latest = view;
    if (latest.status === askingStatus) return latest;
    for await (const change of this.changes(view, request, wait)) {
      latest = change;
      if (latest.status === askingStatus) break;
    }
    return latest;
  }

  /**
   * Stores answers to an execution's questions; the last one lets it continue. Answers without an open question are
   * ignored. Begins again if another answer has changed the job meanwhile.
   * @throws Problem `not_found` if it is of another caller or no longer stored
   */
  async answer(id: string, answers: JsonObject, request: FastifyRequest): Promise<AsyncExecutionView> {
    for (;;) {
      const job = await this.find(id, callerIdOf(principalOf(request)));
      const { asked: roundJson } = dataOf(job);
      if (roundJson === undefined || viewOf(job).status !== askingStatus) return viewOf(job);
      const round = JSON.parse(roundJson) as OpenRound;
      const inputRequests = { ...round.inputRequests };
      const inputResponses = { ...round.inputResponses };
      for (const name of Object.keys(round.inputRequests)) {
        if (!Object.hasOwn(answers, name)) continue;
        inputResponses[name] = answers[name];
        delete inputRequests[name];
      }
      if (await this.putBack(job, { ...round, inputRequests, inputResponses })) return this.get(id, request);
    }
  }

  /** Removes an execution that asks from the queue. @returns its questions: the caller repeats the call with the answers */
  async withdraw(id: string, request: FastifyRequest): Promise<InputRequired> {
    const job = await this.find(id, callerIdOf(principalOf(request)));
    await this.jobs.remove(queueName, id);
    const { inputRequests, requestState } = JSON.parse(dataOf(job).asked ?? '{}') as OpenRound;
    return new InputRequired(inputRequests, requestState);
  }

  /** Cancels an execution. @throws Problem `not_found`; `conflict` if it has ended */
  async cancel(id: string, request: FastifyRequest): Promise<AsyncExecutionView> {
    const caller = callerIdOf(principalOf(request));
    const before = await this.find(id, caller);
    await this.jobs.cancel(queueName, id);
    const job = await this.find(id, caller);
    if (job.state !== 'cancelled' || before.state === 'cancelled')
      throw new Problem('conflict', `The execution has ended: its status is ${viewOf(job).status}`);
    const { asked: roundJson } = dataOf(job);
    if (roundJson !== undefined) await this.endRound(job, JSON.parse(roundJson) as OpenRound);
    await this.sendWebhook(job, viewOf(job));
    return viewOf(job);
  }

  /** The execution after each change of its status, until it ends or `wait` is aborted. */
  async *changes(
    view: AsyncExecutionView,
    request: FastifyRequest,
    wait: AbortSignal,
  ): AsyncGenerator<AsyncExecutionView> {
    let latest = view;
    for (let attempt = 1; latest.endedAt === null && !wait.aborted; attempt++) {
      await delay(backOff(attempt, pollPauses), undefined, { signal: wait }).catch(() => undefined);
      const before = stateOf(latest);
      latest = await this.get(view.id, request);
      if (stateOf(latest) !== before) yield latest;
    }
  }

  /** Puts a job back: to wait for open answers, or else to run with them. @returns false if the job has changed meanwhile */
  private putBack(job: StoredJob, round: OpenRound): Promise<boolean> {
    const { asked: _before, ...data } = dataOf(job);
    if (Object.keys(round.inputRequests).length > 0)
      return this.jobs.put(queueName, job, { ...data, asked: JSON.stringify(round) }, new Date(round.until));
    const next: JobData = { ...data, call: JSON.stringify(nextRound(data.call, round)) };
    return this.jobs.put(queueName, job, next, new Date());
  }

  /**
   * Ends a cancelled execution that was asking, by running its next round as cancelled. If that round is refused, the
   * execution ends when the time for answers is over.
   */
  private async endRound(job: StoredJob, round: OpenRound): Promise<void> {
    const { caller, call } = dataOf(job);
    const cancellation = new Cancellation();
    cancellation.cancel();
    try {
      const next = this.requestOf(caller, nextRound(call, round));
      await this.door.call({ ...next, cancellation, queued: true });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
    }
  }

  /** A stored call with the present rights of its key. @throws Problem `unauthorized` */
  private requestOf(caller: string, { principal: keyless, ...call }: QueuedCall): CallRequest {
    const principal = keyless ? { ...keyless, scopes: new Set(keyless.scopes) } : this.keys.withId(caller);
    if (!principal) throw unauthorized('The key of this call has expired or was revoked.');
    return { ...call, principal };
  }

  /** The job of an execution. @throws Problem `not_found` if there is none of this caller */
  private async find(id: string, caller: string): Promise<StoredJob> {
    const job = isUuid(id) ? await this.jobs.find(queueName, id) : undefined;
    if (job && dataOf(job).caller === caller) return job;
    throw new Problem('not_found', `There is no asynchronous execution ${JSON.stringify(id)} of this caller`);
  }

  /** Streams the changes of an execution, then its outcome. */
  private follow(view: AsyncExecutionView, request: FastifyRequest, reply: FastifyReply): Readable {
    const ring = new EventRing<AsyncExecutionView>({ maxEntries: 100, maxBytes: 1_000_000 });
    const eventOf = (data: AsyncExecutionView): ServerSentEvent => ({ event: 'status', data });
    const source = { ring, place: 0, eventOf };
    const stream = this.streams.follow('streams of executions', holderIn(request), source);
    const closed = new AbortController();
    stream.once('close', () => closed.abort());
    void reply.headers(sseHeaders);
    /** Appends each state before the last one. @returns the event of the last one */
    const streamStates = async (): Promise<ServerSentEvent> => {
      let latest = view;
      if (latest.endedAt === null) ring.append(latest);
      for await (const change of this.changes(view, request, closed.signal)) {
        latest = change;
        if (latest.endedAt === null) ring.append(latest);
      }
      return { event: 'outcome', data: latest };
    };
    finishWith(stream, streamStates(), request.id);
    return stream;
  }

  /** Runs a job. @returns its result; empty if the job was put back to wait for answers */
  private async runJob(job: StoredJob, cancellation: Cancellation): Promise<JobOutput> {
    const output = await this.outputOf(job, cancellation);
    // The job waits for answers, and a later attempt ends it.
    if (output instanceof InputRequired) {
      const { inputRequests = {}, requestState = '', executionId } = output;
      const until = Date.now() + maxAskedMs;
      const round = { executionId, inputRequests, inputResponses: {}, requestState, until };
      if (await this.putBack(job, round)) return {};
      // The replica that runs a job learns some seconds later that it was cancelled.
      const present = await this.jobs.find(queueName, job.id);
      if (present?.state === 'cancelled') await this.endRound(job, round);
      return {};
    }
    // The replica that cancels a job sends its webhook. Otherwise it is sent before the end is stored: if this replica is
    // lost in between, the next one sends it again, with the same id.
    if (!cancellation.isCancelled)
      await this.sendWebhook(job, viewOf({ ...job, state: 'completed', output, completedOn: new Date() }));
    return output;
  }

  /** Runs a job's call. @throws an error if another replica shall run it */
  private async outputOf(job: StoredJob, cancellation: Cancellation): Promise<JobOutput | InputRequired> {
    const { caller, call: callJson, asked: roundJson } = dataOf(job);
    // A job with open questions runs only when the time for answers is over.
    if (roundJson !== undefined) return { outcome: JSON.stringify(unansweredOutcome(roundJson, job)) };
    const call = JSON.parse(callJson) as QueuedCall;
    for (;;) {
      try {
        const queued = { idempotencyKey: job.id, cancellation, queued: true };
        const { outcome, mayRunAgain } = await this.door.call({ ...this.requestOf(caller, call), ...queued });
        // This replica stops, or cannot reach the database.
        if (mayRunAgain) throw new Error(`The call of ${call.tool} is left to another replica`);
        return { outcome: JSON.stringify(outcome) };
      } catch (error) {
        if (error instanceof InputRequired) return error;
        if (!(error instanceof Problem) || leftToOthers.has(error.code)) throw error;
        if (!retriedHere.has(error.code) || cancellation.isCancelled)
          return { problem: JSON.stringify(problemBody(error, call.context.requestId)) };
        const pauseMs = error.details.retryAfterMs ?? defaultRetryPauseMs;
        await delay(pauseMs, undefined, { signal: cancellation.signal }).catch(() => undefined);
      }
    }
  }

  /** Sends the end of an execution to the call's webhook, if it named one. @throws the database's error */
  private async sendWebhook(job: StoredJob, view: AsyncExecutionView): Promise<void> {
    const { webhookUrl } = dataOf(job);
    if (webhookUrl === undefined) return;
    const body = JSON.stringify({ type: 'execution.ended', timestamp: view.endedAt, data: view });
    const { id, groupId: caller } = job;
    await this.webhooks.send({ id: `execution-${id}`, url: webhookUrl, body, by: 'caller', caller });
  }
}

/** A text that changes with each state that clients can tell apart. */
const stateOf = ({ status, inputRequests }: AsyncExecutionView): string =>
  JSON.stringify([status, inputRequests]);
