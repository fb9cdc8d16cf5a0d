import type { ErrorCode } from '../../src/base/common/errors.js';
import type { Lane } from './lanes.js';
import type { Random } from './random.js';
import type { Step } from './steps.js';

/** How a call may end: in success, or with the code of an outcome or a refusal. */
export type Ending = 'success' | ErrorCode;

/** One fault, ready to be injected. */
export interface Fault {
  readonly script: readonly Step[];
  readonly deadlineMs: number;
  /** When the answer is due, the slack aside; absent: at once. */
  readonly dueMs?: number;
  readonly endings: readonly Ending[];
  /** How a call that shares the process may end, success aside. */
  readonly beside?: readonly Ending[];
  /** Its process may not live on. */
  readonly ends: boolean;
  /**
   * Its answer races its deadline. A gateway that was held up at that moment finds both at once, and gives the answer:
   * to throw it away would call unknown what is known. So it may end in success too, and then the process lives on.
   */
  readonly races?: boolean;
  /** A second call with the same script and key, at the same time. */
  readonly twice?: boolean;
  /** The calls after it that may suffer, before the next one must work. */
  readonly after?: {
    readonly calls: number;
    readonly paddingBytes: number;
    readonly endings: readonly Ending[];
  };
}

/** A kind of fault that one call of a faulty tool makes. */
export interface Kind {
  readonly name: string;
  /** How many of them the long form injects. */
  readonly count: number;
  /** What does not fit a configuration is never planned for it. */
  readonly fits?: (lane: Lane) => boolean;
  /** Cannot be contained by the gateway alone. */
  readonly needsSpawner?: boolean;
  make(random: Random, lane: Lane): Fault;
}

export const shortMs = 250;
/** Long enough on any machine. */
export const ampleMs = 20_000;
