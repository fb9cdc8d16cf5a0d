import { setTimeout as delay } from 'node:timers/promises';
import { backOff } from '../../base/common/back-off.js';
import type { Cancellation } from '../../base/common/cancellation.js';
import { canonicalJson, sha256 } from '../../base/common/canonical-json.js';
import type { Deadline } from '../../base/common/deadline.js';
import { isDatabaseUnavailable, Refusal } from '../../base/common/errors.js';
import { newId } from '../../base/common/ids.js';
import type { InFlight } from '../../base/common/lifecycle.js';
import { InputRequired } from '../../web/contract/asks.js';
import type { CallAnswer, CallRequest } from '../../web/contract/tool-call.js';
import { failedOutcome, ToolFailure, type ToolOutcome } from '../../web/contract/tool-outcome.js';
import type { ClaimEnd, ClaimKeeper } from './claim-keeper.js';
import type { Claim, IdempotencyRepository, KeyState } from './idempotency.repository.js';

/** A call with an idempotency key, with the needed properties of its tool. */
export interface KeyedCall extends Pick<
  CallRequest,
  'tool' | 'input' | 'context' | 'principal' | 'executionId'
> {
  readonly idempotencyKey: string;
  /** End of the wait for the first call with its key. */
  readonly deadline: Deadline;
  /** Cancelled when the caller disconnects. */
  readonly cancellation?: Cancellation | undefined;
  readonly idempotent: boolean;
  /** The outcome without the secrets in it, for storage. */
  readonly withoutSecrets: (outcome: ToolOutcome) => ToolOutcome;
}

/**
 * Runs the call under an id.
 * @param begin awaited before the tool gets the call. @throws ToolFailure `interrupted` if it must not get it
 */
type Run = (executionId: string, begin: (() => Promise<void>) | undefined) => Promise<CallAnswer>;

/** Pauses between two checks whether the first call has ended. */
const pauses = { firstMs: 25, maxMs: 500 };

/**
 * Runs the first call with a key and answers all others with its outcome, concurrent and later ones, at this and at other
 * replicas. A refused call releases its key.
 */
export class IdempotentCalls {
  /** Outcomes that are being stored. */
  private readonly storing = new Set<Promise<void>>();

  constructor(
    private readonly store: IdempotencyRepository,
    private readonly keeper: ClaimKeeper,
    private readonly maxOutcomeBytes: number,
    /** Calls that run on although their caller has disconnected. The server waits for them before it stops. */
    private readonly inFlight: InFlight,
  ) {}

  /**
   * Runs a call, or answers with the outcome of the first one with its key.
   * @throws Refusal `conflict` if the first call still runs at the end of the wait, `idempotency_key_reused`,
   *   `database_unavailable`; what `run` throws
   */
  async once(call: KeyedCall, run: Run): Promise<CallAnswer> {
    const inputHash = sha256(canonicalJson(call.input));
    const claim = { id: call.executionId ?? newId(), scope: scopeOf(call), tool: call.tool, inputHash };
    for (let attempt = 1; ; attempt++) {
      const state = await this.refuseWithoutDatabase(() => this.claimOrTakeOver(claim, call));
      if (state?.kind === 'claimed') return this.runClaimed(claim, call, run);
      if (state && state.inputHash !== claim.inputHash) throw keyReused(call.tool);
      if (state?.kind === 'ended')
        return { outcome: JSON.parse(state.outcome) as ToolOutcome, replayed: true };
      // The key changed meanwhile.
      if (state === undefined) continue;
      await pause(backOff(attempt, pauses), call);
    }
  }

  /**
   * Claims the key. An abandoned call is run again if it never began or its tool is idempotent; else it is `interrupted`.
   * @returns the key's state; undefined if it changed meanwhile
   */
  private async claimOrTakeOver(claim: Claim, { idempotent }: KeyedCall): Promise<KeyState | undefined> {
    const state = await this.store.claim(claim);
    if (state?.kind !== 'running' || !state.abandoned || state.inputHash !== claim.inputHash) return state;
    const { holder } = state;
    if (idempotent || !state.begun)
      return (await this.store.takeOver(holder, claim)) ? { kind: 'claimed' } : undefined;
    const { scope, tool, inputHash } = claim;
    const outcome = JSON.stringify(interruptedOutcome(holder, tool));
    const isEnded = await this.store.end({ id: holder, scope }, outcome, { onlyIfAbandoned: true });
    return isEnded ? { kind: 'ended', inputHash, outcome } : undefined;
  }

  /** Runs a call that holds its key, and ends the claim. */
  private async runClaimed(
    claim: Claim,
    { idempotent, withoutSecrets }: KeyedCall,
    run: Run,
  ): Promise<CallAnswer> {
    this.keeper.hold(claim);
    let mayRunAgain = true;
    const begin = async (): Promise<void> => {
      // Another call of the same process may have just ended: its outcome must be stored before the process can be killed.
      await Promise.all(this.storing);
      if (!(await this.store.begin(claim).catch(() => false))) throw notBegun();
      mayRunAgain = false;
    };
    try {
      const answer = await this.inFlight.during(() => run(claim.id, idempotent ? undefined : begin));
      const { outcome } = answer;
      const hasNotRun = mayRunAgain && outcome.status === 'error' && outcome.error.type === 'interrupted';
      const end = hasNotRun ? 'released' : { outcome: this.storableJson(withoutSecrets(outcome)) };
      await this.endClaim(claim, end);
      return hasNotRun ? { ...answer, mayRunAgain: true } : answer;
    } catch (error) {
      // After a refusal nothing has run; after a question the next round runs with the key. Any other error is a bug that may
      // have occurred after the tool had done its work.
      const mayRetry = error instanceof Refusal || error instanceof InputRequired || mayRunAgain;
      const outcome = JSON.stringify(interruptedOutcome(claim.id, claim.tool));
      await this.endClaim(claim, mayRetry ? 'released' : { outcome });
      throw error;
    }
  }

  /** Ends a claim, and waits until the end is stored. */
  private async endClaim(claim: Claim, end: ClaimEnd): Promise<void> {
    const stored = this.keeper.end(claim, end);
    this.storing.add(stored);
    await stored.finally(() => this.storing.delete(stored));
  }

  /** The outcome as JSON; one that is too large is replaced. */
  private storableJson(outcome: ToolOutcome): string {
    const json = JSON.stringify(outcome);
    const bytes = Buffer.byteLength(json);
    if (bytes <= this.maxOutcomeBytes) return json;
    return JSON.stringify(tooLargeOutcome(outcome, bytes, this.maxOutcomeBytes));
  }

  /** Queries the database. Without the database the call is refused, because it may have run before. */
  private async refuseWithoutDatabase<T>(query: () => Promise<T>): Promise<T> {
    try {
      return await query();
    } catch (error) {
      if (!isDatabaseUnavailable(error)) throw error;
      const detail = 'The database does not answer, and without it a call with an Idempotency-Key is not run';
      throw new Refusal('database_unavailable', detail, { retryAfterMs: 5_000 });
    }
  }
}

/** The scope of a key: the same caller, user, project and tool. The key itself is not stored. */
function scopeOf({ principal, context, tool, idempotencyKey }: KeyedCall): string {
  const { userId, projectId } = context;
  return sha256(
    JSON.stringify([principal.keyId ?? principal.userId, userId, projectId, tool, idempotencyKey]),
  );
}

/** Waits. @throws Refusal `conflict` at the deadline, or if the caller disconnects */
async function pause(ms: number, { deadline, cancellation }: KeyedCall): Promise<void> {
  const leftMs = deadline.remainingMs();
  await delay(Math.min(ms, leftMs), undefined, { signal: cancellation?.signal }).catch(() => {
    throw firstStillRuns();
  });
  if (leftMs <= ms) throw firstStillRuns();
}

function firstStillRuns(): Refusal {
  const detail = 'The first call with this Idempotency-Key still runs: ask again later for its outcome';
  return new Refusal('conflict', detail, { retryAfterMs: 1_000 });
}

function keyReused(tool: string): Refusal {
  const detail = `This Idempotency-Key was used for a call of ${tool} with another input`;
  return new Refusal('idempotency_key_reused', detail);
}

function notBegun(): ToolFailure {
  return new ToolFailure(
    'interrupted',
    'The tool was not given the call: the database does not answer, or another replica has taken the key over. ' +
      'Call again with the same key',
  );
}

function interruptedOutcome(executionId: string, tool: string): ToolOutcome {
  const message =
    'The first call with this key was interrupted. The result is unknown: the tool may have done its work';
  return failedOutcome({ executionId, tool }, { type: 'interrupted', message });
}

/** Replaces an outcome that is too large to store: the call is not run again, and its result is lost. */
function tooLargeOutcome(outcome: ToolOutcome, bytes: number, maxBytes: number): ToolOutcome {
  const { executionId, tool, status, executionTimeMs, attempts } = outcome;
  const message =
    `The first call with this key ended with status ${status}; its outcome of ${bytes} bytes was answered then and ` +
    `not stored: the cap is ${maxBytes}`;
  const base = { executionId, tool, executionTimeMs, attempts };
  return failedOutcome(base, { type: 'output_too_large', message });
}
