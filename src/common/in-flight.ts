/** Counts what has begun and not ended, and tells when that is nothing. */
export class InFlight {
  private current = 0;
  private onIdle: (() => void) | undefined;

  get count(): number {
    return this.current;
  }

  begin(): void {
    this.current += 1;
  }

  end(): void {
    this.current -= 1;
    if (this.current === 0) this.onIdle?.();
  }

  /** Counts a piece of work from its beginning to its end. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.begin();
    try {
      return await work();
    } finally {
      this.end();
    }
  }

  /** Resolves when nothing is in flight, or when the time is up. */
  idle(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.current === 0) this.onIdle();
    });
  }
}
