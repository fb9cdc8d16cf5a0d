import type { Release } from '../tool-contract/tool.js';

/** Places that calls hold from before they are recorded until they have ended. */
export class Admissions {
  private taken = 0;

  constructor(
    private readonly capacity: number,
    private readonly onRelease: () => void,
  ) {}

  get held(): number {
    return this.taken;
  }

  /** @returns gives the place back, harmless when called twice; undefined when all are taken */
  take(): Release | undefined {
    if (this.taken >= this.capacity) return undefined;
    this.taken++;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.taken--;
      this.onRelease();
    };
  }
}
