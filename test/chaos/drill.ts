import type { Arena } from './arena.js';
import type { Random } from './random.js';

/** A kind of fault that is no single call's: it happens to a tool or to the gateway. */
export interface Drill {
  readonly name: string;
  readonly count: number;
  /** Nothing else may run meanwhile. */
  readonly alone?: boolean;
  readonly needsSpawner?: boolean;
  /** Before the first of them. */
  prepare(arena: Arena): Promise<void>;
  /** Injects one and looks at everything that must hold; `wrong` takes what does not. */
  run(arena: Arena, random: Random, wrong: (what: string | undefined) => void): Promise<void>;
}
