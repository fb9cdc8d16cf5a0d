/** One step of faulty-tool.py. In texts `$ID`, `$NEXT`, `$LAST`, `$REPLY` and `$PRETTY` stand for the call's own. */
export type Step =
  /** Its answer, or the first `part` (0 to 1) of it. */
  | { readonly do: 'reply'; readonly part?: number }
  /** Raw output; `cuts` are the places, 0 to 1, where it is torn into several writes. */
  | {
      readonly do: 'write';
      readonly text: string;
      readonly cuts?: readonly number[];
      readonly pauseMs?: number;
    }
  | { readonly do: 'write'; readonly base64: string }
  | { readonly do: 'splitCharacter' }
  /** Meets the call with the same key, if both run in one process, and answers across. */
  | { readonly do: 'crosswise'; readonly key: string; readonly waitMs: number }
  | { readonly do: 'flood'; readonly text: string; readonly bytes?: number }
  | { readonly do: 'stderr'; readonly bytes: number }
  | { readonly do: 'leak'; readonly mib: number }
  | {
      readonly do: 'grandchild';
      readonly setsid?: boolean;
      readonly ignoreTerm?: boolean;
      readonly holdPipes?: boolean;
    }
  | { readonly do: 'sleep'; readonly ms: number }
  | { readonly do: 'exit'; readonly code: number }
  | { readonly do: 'kill'; readonly signal: 'SIGSEGV' | 'SIGKILL' }
  | { readonly do: 'close'; readonly fd: 0 | 1 }
  | { readonly do: 'spin' | 'hang' | 'stopReading' | 'ignoreTerm' };

/** What a call of the tool is given. */
export interface ChaosInput {
  /** Comes back in the answer. */
  readonly nonce: string;
  /** Name of its file in the ledger. */
  readonly fault?: string;
  readonly script?: readonly Step[];
  /** The script runs the first time only; a repetition of the call is answered honestly. */
  readonly once?: boolean;
  /** Fills the input. */
  readonly padding?: string;
}
