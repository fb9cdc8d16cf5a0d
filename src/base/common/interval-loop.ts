/** Runs an asynchronous task repeatedly, `intervalMs` after the end of the last run, so that runs cannot overlap. */
export class IntervalLoop {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<unknown> = Promise.resolve();
  private isRunning = false;
  private stopped = true;
  private regularlyAt = 0;
  private hastenedBy: number | undefined;
  private hasFailed = false;

  /** @param onError called after each failure; `again`: whether the run before failed too */
  constructor(
    private readonly task: () => Promise<void>,
    private readonly intervalMs: number,
    private readonly onError: (error: unknown, again: boolean) => unknown,
  ) {}

  /** Schedules the first run in `delayMs`. */
  start(delayMs = this.intervalMs): void {
    if (!this.stopped) return;
    this.stopped = false;
    this.schedule();
    this.hasten(delayMs);
  }

  /**
   * Brings the next run forward to `delayMs` from now, or after the current run. Calling it again postpones the run, but
   * never beyond its regular time.
   */
  hasten(delayMs: number): void {
    if (this.stopped) return;
    if (this.isRunning) this.hastenedBy = delayMs;
    else this.arm(Math.max(0, Math.min(delayMs, this.regularlyAt - performance.now())));
  }

  /** Stops the loop and waits for the current run. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.running;
  }

  private schedule(): void {
    if (this.stopped) return;
    this.regularlyAt = performance.now() + this.intervalMs;
    this.arm(Math.min(this.hastenedBy ?? this.intervalMs, this.intervalMs));
    this.hastenedBy = undefined;
  }

  private arm(delayMs: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.run(), delayMs);
    this.timer.unref();
  }

  private failed(error: unknown): void {
    const again = this.hasFailed;
    this.hasFailed = true;
    this.onError(error, again);
  }

  private run(): void {
    this.isRunning = true;
    this.running = this.task()
      .then(
        () => (this.hasFailed = false),
        (error: unknown) => this.failed(error),
      )
      .finally(() => {
        this.isRunning = false;
        this.schedule();
      });
  }
}
