/**
 * Whether the caller of a call has left. Listeners are cheaper than an AbortSignal, which is created on demand only:
 * most calls end without one.
 */
export class Cancellation {
  private cancelled = false;
  /** A set is made for the second listener: nearly all calls have one. */
  private listener: (() => void) | undefined;
  private others: Set<() => void> | undefined;
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
    this.listener?.();
    for (const listener of this.others ?? []) listener();
  }

  /** A listener that comes after the cancellation is not called. */
  subscribe(listener: () => void): void {
    if (this.listener) (this.others ??= new Set()).add(listener);
    else this.listener = listener;
  }

  unsubscribe(listener: () => void): void {
    if (this.listener === listener) this.listener = undefined;
    else this.others?.delete(listener);
  }
}
