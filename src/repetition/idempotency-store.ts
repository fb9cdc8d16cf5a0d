/** A key's use by one call. */
export interface Claim {
  /** Id of the execution; also tells one claim of a key from a later one. */
  readonly id: string;
  /** Hash of caller, tool and key. */
  readonly scope: string;
  readonly tool: string;
  readonly inputHash: string;
}

/** The state of a key, for a call that wants to claim it. */
export type KeyState =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'ended'; readonly inputHash: string; readonly outcome: string }
  | {
      readonly kind: 'running';
      readonly inputHash: string;
      /** Id of the claim that has it. */
      readonly holder: string;
      /** Its gateway has given no sign of life for a whole lease. */
      readonly abandoned: boolean;
    };

/** Keys and outcomes, shared by replicas and safe from restarts. Each method throws if the database is away. */
export interface IdempotencyStore {
  /** @returns undefined when the key changed hands meanwhile: ask again */
  claim(claim: Claim): Promise<KeyState | undefined>;
  /** Claims a key whose holder is dead. @returns false when that was not so any more */
  takeOver(holder: string, claim: Claim): Promise<boolean>;
  /** @returns false when the claim was lost meanwhile */
  end(claim: Pick<Claim, 'id' | 'scope'>, outcome: string): Promise<boolean>;
  /** Ends a claim whose holder is dead. @returns false when that was not so any more */
  endAbandoned(claim: Pick<Claim, 'id' | 'scope'>, outcome: string): Promise<boolean>;
  /** The key is as if it had never come. */
  release(claim: Pick<Claim, 'id' | 'scope'>): Promise<void>;
  /** Says that these claims are alive. */
  renew(claims: readonly Pick<Claim, 'id' | 'scope'>[]): Promise<void>;
}
