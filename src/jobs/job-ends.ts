import { IntervalLoop } from '../common/interval-loop.js';

/** Between two looks whether jobs that somebody waits for have ended at another replica. */
const watchMs = 500;

/** Tells those who wait for a job of its end. */
export class JobEnds {
  private readonly waiters = new Map<string, Set<() => void>>();
  private readonly watch: IntervalLoop;

  /** @param endedOf returns those of these jobs that have ended */
  constructor(
    private readonly endedOf: (ids: readonly string[]) => Promise<string[]>,
    onError: (error: unknown, again: boolean) => void,
  ) {
    this.watch = new IntervalLoop(() => this.look(), watchMs, onError);
  }

  start(): void {
    this.watch.start();
  }

  stop(): Promise<void> {
    return this.watch.stop();
  }

  /** Resolves when the job has probably ended, or after `ms`. */
  async wait(id: string, ms: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiters = this.waiters.get(id) ?? new Set();
    this.waiters.set(id, waiters.add(resolve));
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    clearTimeout(timer);
    waiters.delete(resolve);
    if (waiters.size === 0) this.waiters.delete(id);
  }

  ended(id: string): void {
    for (const resolve of this.waiters.get(id) ?? []) resolve();
  }

  private async look(): Promise<void> {
    const ids = [...this.waiters.keys()];
    if (ids.length === 0) return;
    for (const id of await this.endedOf(ids)) this.ended(id);
  }
}
