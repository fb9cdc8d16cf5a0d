/** Runs an asynchronous task repeatedly, `intervalMs` after the end of the last run, so that runs cannot overlap. */
export class IntervalLoop {
  private timer: NodeJS.Timeout | undefined;
  /** Ends with the current run. */
  private running: Promise<unknown> = Promise.resolve();
  private isRunning = false;
  private isStopped = true;
  /** Time of the next run if it is not brought forward, by performance.now(). */
  private regularAt = 0;
  /** Delay after the current run, if `hasten` was called during it. */
  private hastenedMs: number | undefined;
  /** Whether the last run failed. */
  private hasFailed = false;

  /** @param onError called after each failure; `again`: whether the run before failed too */
  constructor(
    private readonly task: () => Promise<void>,
    private readonly intervalMs: number,
    private readonly onError: (error: unknown, again: boolean) => unknown,
  ) {}

  /** Schedules the first run in `delayMs`. */
  start(delayMs = this.intervalMs): void {
    if (!this.isStopped) return;
    this.isStopped = false;
    this.schedule();
    this.hasten(delayMs);
  }

  /**
   * Brings the next run forward to `delayMs` from now, or after the current run. Calling it again postpones the run, but
   * never beyond its regular time.
   */
  hasten(delayMs: number): void {
    if (this.isStopped) return;
    if (this.isRunning) this.hastenedMs = delayMs;
    else this.arm(Math.max(0, Math.min(delayMs, this.regularAt - performance.now())));
  }

  /** Stops the loop and waits for the current run. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.running;
  }

  private schedule(): void {
    if (this.isStopped) return;
    this.regularAt = performance.now() + this.intervalMs;
    this.arm(Math.min(this.hastenedMs ?? this.intervalMs, this.intervalMs));
    this.hastenedMs = undefined;
  }

  private arm(delayMs: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.run(), delayMs);
    this.timer.unref();
  }

  private onFailure(error: unknown): void {
    const again = this.hasFailed;
    this.hasFailed = true;
    this.onError(error, again);
  }

  private run(): void {
    this.isRunning = true;
    this.running = this.task()
      .then(
        () => (this.hasFailed = false),
        (error: unknown) => this.onFailure(error),
      )
      .finally(() => {
        this.isRunning = false;
        this.schedule();
      });
  }
}
