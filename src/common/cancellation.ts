/**
 * Whether the caller of a call has left. Listeners cost less than an AbortSignal, which is made only if somebody asks
 * for it: most calls end before anybody does.
 */
export class Cancellation {
  private cancelled = false;
  private listeners: Set<() => void> | undefined;
  private controller: AbortController | undefined;

  get isCancelled(): boolean {
    return this.cancelled;
  }

  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.cancelled) this.controller.abort();
    return this.controller.signal;
  }

  /** Calls the listeners, each once. */
  cancel(): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.controller?.abort();
    for (const listener of this.listeners ?? []) listener();
  }

  /** A listener that comes after the cancellation is not called. */
  subscribe(listener: () => void): void {
    (this.listeners ??= new Set()).add(listener);
  }

  unsubscribe(listener: () => void): void {
    this.listeners?.delete(listener);
  }
}
