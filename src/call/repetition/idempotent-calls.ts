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
import type { ClaimKeeper } from './claim-keeper.js';
import type { Claim, IdempotencyRepository, KeyState } from './idempotency.repository.js';

/** A call with a key, and what of its tool matters here. */
export interface KeyedCall extends Pick<
  CallRequest,
  'tool' | 'input' | 'context' | 'principal' | 'executionId'
> {
  readonly idempotencyKey: string;
  /** Until then it may wait for the first call with its key. */
  readonly deadline: Deadline;
  /** Cancelled when the caller leaves. */
  readonly cancellation?: Cancellation | undefined;
  /** Whether the tool is declared idempotent. */
  readonly idempotent: boolean;
  /** @returns the outcome as it is stored: without secrets */
  readonly keep: (outcome: ToolOutcome) => ToolOutcome;
}

/**
 * Runs the call under the id that is given.
 * @param begin comes before the tool is given the call. @throws ToolFailure `interrupted` if it must not be given
 */
type Run = (executionId: string, begin: (() => Promise<void>) | undefined) => Promise<CallAnswer>;

/** Between two looks whether the first call has ended. */
const pauses = { firstMs: 25, maxMs: 500 };

/**
 * Runs the first call with a key and gives its outcome to the others, whether they come later or meanwhile, here or at
 * another gateway. A call that is refused frees its key.
 */
export class IdempotentCalls {
  /** Outcomes on their way into the database. */
  private readonly storing = new Set<Promise<void>>();

  constructor(
    private readonly store: IdempotencyRepository,
    private readonly keeper: ClaimKeeper,
    private readonly maxOutcomeBytes: number,
    /** Calls that run although their caller has left: the server waits for them before it stops. */
    private readonly inFlight: InFlight,
  ) {}

  /**
   * @throws Refusal `conflict` if the first call still runs at the end of the wait, `idempotency_key_reused`,
   *   `database_unavailable`; and whatever `run` throws
   */
  async once(call: KeyedCall, run: Run): Promise<CallAnswer> {
    const inputHash = sha256(canonicalJson(call.input));
    const claim = { id: call.executionId ?? newId(), scope: scopeOf(call), tool: call.tool, inputHash };
    for (let looks = 1; ; looks++) {
      const state = await this.ask(() => this.claimOrTakeOver(claim, call));
      if (state?.kind === 'claimed') return this.run(claim, call, run);
      if (state && state.inputHash !== claim.inputHash) throw reused(call.tool);
      if (state?.kind === 'ended')
        return { outcome: JSON.parse(state.outcome) as ToolOutcome, replayed: true };
      if (state === undefined) continue;
      await pause(backOff(looks, pauses), call);
    }
  }

  /** An abandoned call that never began, or of an idempotent tool, is run again; the outcome of another is `interrupted`. */
  private async claimOrTakeOver(claim: Claim, { idempotent }: KeyedCall): Promise<KeyState | undefined> {
    const state = await this.store.claim(claim);
    if (state?.kind !== 'running' || !state.abandoned || state.inputHash !== claim.inputHash) return state;
    const { holder } = state;
    if (idempotent || !state.begun)
      return (await this.store.takeOver(holder, claim)) ? { kind: 'claimed' } : undefined;
    const { scope, tool, inputHash } = claim;
    const outcome = JSON.stringify(interruptedOutcome(holder, tool));
    const ended = await this.store.end({ id: holder, scope }, outcome, true);
    return ended ? { kind: 'ended', inputHash, outcome } : undefined;
  }

  private async run(claim: Claim, { idempotent, keep }: KeyedCall, run: Run): Promise<CallAnswer> {
    this.keeper.hold(claim);
    let mayRunAgain = true;
    const begin = async (): Promise<void> => {
      // The process may just have answered another call, whose outcome a kill would make unknown, too.
      await Promise.all(this.storing);
      if (!(await this.store.begin(claim).catch(() => false))) throw neverBegun();
      mayRunAgain = false;
    };
    try {
      const answer = await this.inFlight.during(() => run(claim.id, idempotent ? undefined : begin));
      const { outcome } = answer;
      const undone = mayRunAgain && outcome.status === 'error' && outcome.error.type === 'interrupted';
      await this.end(claim, undone ? 'released' : { outcome: this.kept(keep(outcome)) });
      return undone ? { ...answer, mayRunAgain: true } : answer;
    } catch (error) {
      // Refused: nothing was run. Asked: the next round runs with the key. A bug of ours may have struck after the tool had done its work.
      const harmless = error instanceof Refusal || error instanceof InputRequired || mayRunAgain;
      const outcome = JSON.stringify(interruptedOutcome(claim.id, claim.tool));
      await this.end(claim, harmless ? 'released' : { outcome });
      throw error;
    }
  }

  private async end(claim: Claim, end: Parameters<ClaimKeeper['end']>[1]): Promise<void> {
    const stored = this.keeper.end(claim, end);
    this.storing.add(stored);
    await stored.finally(() => this.storing.delete(stored));
  }

  private kept(outcome: ToolOutcome): string {
    const json = JSON.stringify(outcome);
    const bytes = Buffer.byteLength(json);
    return bytes <= this.maxOutcomeBytes
      ? json
      : JSON.stringify(unkeptOutcome(outcome, bytes, this.maxOutcomeBytes));
  }

  /** Asks the database. If it is away the call is refused, for it may have been run before. */
  private async ask<T>(question: () => Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (error) {
      if (!isDatabaseUnavailable(error)) throw error;
      const detail = 'The database does not answer, and without it a call with an Idempotency-Key is not run';
      throw new Refusal('database_unavailable', detail, { retryAfterMs: 5_000 });
    }
  }
}

/** Only the same caller, for the same user and project, finds what was kept. The key itself is stored nowhere. */
function scopeOf({ principal, context, tool, idempotencyKey }: KeyedCall): string {
  const { userId, projectId } = context;
  return sha256(
    JSON.stringify([principal.keyId ?? principal.userId, userId, projectId, tool, idempotencyKey]),
  );
}

/** @throws Refusal `conflict` if the time is up or the caller leaves before */
async function pause(ms: number, { deadline, cancellation }: KeyedCall): Promise<void> {
  const leftMs = deadline.remainingMs();
  await delay(Math.min(ms, leftMs), undefined, { signal: cancellation?.signal }).catch(() => {
    throw stillRuns();
  });
  if (leftMs <= ms) throw stillRuns();
}

function stillRuns(): Refusal {
  const detail = 'The first call with this Idempotency-Key still runs: ask again later for its outcome';
  return new Refusal('conflict', detail, { retryAfterMs: 1_000 });
}

function reused(tool: string): Refusal {
  const detail = `This Idempotency-Key was used for a call of ${tool} with another input`;
  return new Refusal('idempotency_key_reused', detail);
}

function neverBegun(): ToolFailure {
  return new ToolFailure(
    'interrupted',
    'The tool was not given the call: the database does not answer, or another replica has taken the key over. ' +
      'Call again with the same key',
  );
}

/** The outcome of a call whose end is not known. */
function interruptedOutcome(executionId: string, tool: string): ToolOutcome {
  const message =
    'The first call with this key was interrupted. The result is unknown: the tool may have done its work';
  return failedOutcome({ executionId, tool }, { type: 'interrupted', message });
}

/**
 * Stands for an outcome that is over the cap: the call is not run again, and no success is claimed without a result.
 */
function unkeptOutcome(outcome: ToolOutcome, bytes: number, maxBytes: number): ToolOutcome {
  const { executionId, tool, status, executionTimeMs, attempts } = outcome;
  const message =
    `The first call with this key ended with status ${status}; its outcome of ${bytes} bytes was answered then and ` +
    `not stored: the cap is ${maxBytes}`;
  const base = { executionId, tool, executionTimeMs, attempts };
  return failedOutcome(base, { type: 'output_too_large', message });
}
