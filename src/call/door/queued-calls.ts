import type { StoredJob } from '../../base/jobs/queue.js';
import { type Asks, type InputRequired, unanswered } from '../../web/contract/asks.js';
import type { Principal, Scope } from '../../web/contract/principal.js';
import type { CallRequest } from '../../web/contract/tool-call.js';
import { failedOutcome, type ToolOutcome } from '../../web/contract/tool-outcome.js';
import type { AsyncExecutionView } from './tools.dto.js';

/** A call as its job stores it. */
export type QueuedCall = Pick<CallRequest, 'tool' | 'input' | 'context' | 'timeoutMs' | 'address'> & {
  /** A caller without a key; one with a key is looked up when the call runs. */
  readonly principal?: Omit<Principal, 'scopes'> & { readonly scopes: readonly Scope[] };
  readonly asks?: Pick<Asks, 'capabilities' | 'answers'> | undefined;
};

/** The data of a job. Values that jsonb would change are JSON text. */
export interface JobData {
  readonly tool: string;
  readonly caller: string;
  readonly inputHash: string;
  readonly webhookUrl?: string;
  /** `QueuedCall` as JSON. */
  readonly call: string;
  /** `OpenRound` as JSON, while the call waits for answers. */
  readonly asked?: string;
}

/** Questions of a tool to its caller that are still open, and the answers so far. */
export interface OpenRound {
  readonly executionId: string;
  readonly inputRequests: NonNullable<InputRequired['inputRequests']>;
  readonly inputResponses: Readonly<Record<string, unknown>>;
  readonly requestState: string;
  /** The end of the time for answers, in milliseconds since the epoch. */
  readonly until: number;
}

/** The result of a job: `outcome` or `problem`, as JSON text. */
export interface JobOutput {
  readonly outcome?: string;
  readonly problem?: string;
}

/** Number of lost replicas and handovers after which a job is given up. */
export const retryLimit = 5;
/** Status of a call whose tool waits for answers of the caller. */
export const askingStatus = 'input_required';

export const dataOf = ({ data }: Pick<StoredJob, 'data'>): JobData => data as unknown as JobData;

/** The storable part of a call. A live way to ask is dropped: the call asks in rounds. */
export function queuedCallOf({ principal, asks, ...request }: CallRequest): QueuedCall {
  const { tool, input, context, timeoutMs, address } = request;
  const roundAsks = asks && { capabilities: asks.capabilities, answers: asks.answers };
  const call = { tool, input, context, timeoutMs, address, asks: roundAsks };
  if (principal.keyId !== undefined && !principal.token) return call;
  return { ...call, principal: { ...principal, scopes: [...principal.scopes] } };
}

/** The next round of a stored call, with the answers to its questions. */
export function nextRound(callJson: string, { inputResponses, requestState }: OpenRound): QueuedCall {
  const call = JSON.parse(callJson) as QueuedCall;
  return { ...call, asks: { capabilities: {}, ...call.asks, answers: { inputResponses, requestState } } };
}

/** Status of an execution by the state of its job. */
const statuses = {
  created: 'queued',
  retry: 'queued',
  active: 'running',
  completed: 'ended',
  cancelled: 'cancelled',
  failed: 'ended',
} as const;

/** A job as callers see it. */
export function viewOf(job: StoredJob): AsyncExecutionView {
  const { id, state, createdOn, completedOn } = job;
  const startedOn = job.startedOn as Date | null;
  const { tool, asked } = dataOf(job);
  const { outcome, problem } = (state === 'completed' ? job.output : {}) as JobOutput;
  const isAsking = asked !== undefined && statuses[state] === 'queued';
  let status: AsyncExecutionView['status'] = isAsking ? askingStatus : statuses[state];
  if (problem !== undefined) status = 'refused';
  return {
    id,
    tool,
    status,
    submittedAt: createdOn.toISOString(),
    startedAt: startedOn?.toISOString() ?? null,
    endedAt: completedOn?.toISOString() ?? null,
    ...(isAsking && { inputRequests: (JSON.parse(asked) as OpenRound).inputRequests }),
    ...(outcome !== undefined && { outcome: JSON.parse(outcome) as ToolOutcome }),
    ...(state === 'failed' && { outcome: lostOutcome(id, tool) }),
    ...(problem !== undefined && { problem: JSON.parse(problem) as object }),
  };
}

/** The outcome of a call whose questions were not answered in time. @param roundJson `OpenRound` as JSON */
export function unansweredOutcome(roundJson: string, job: StoredJob): ToolOutcome {
  const { executionId } = JSON.parse(roundJson) as OpenRound;
  const { tool } = dataOf(job);
  return failedOutcome({ executionId, tool }, { type: 'timeout', message: unanswered });
}

/** The outcome of a call that was given up after all tries. */
function lostOutcome(executionId: string, tool: string): ToolOutcome {
  const message = `${retryLimit + 1} replicas that ran the call were lost. The result is unknown: the tool may have done its work`;
  return failedOutcome({ executionId, tool }, { type: 'interrupted', message });
}
