/**
 * The cancellation of a call, for example because its caller has left. Listeners are cheaper than an AbortSignal, which is
 * created on demand: most calls end without one.
 */
export class Cancellation {
  private cancelled = false;
  /** The first listener. Nearly all calls have only one, so a set is made for the second. */
  private listener: (() => void) | undefined;
  private others: Set<() => void> | undefined;
  private controller: AbortController | undefined;

  get isCancelled(): boolean {
    return this.cancelled;
  }

  /** Aborts when the call is cancelled. */
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

  /** Adds a listener. It is not called if the call was cancelled before. */
  subscribe(listener: () => void): void {
    if (this.listener) (this.others ??= new Set()).add(listener);
    else this.listener = listener;
  }

  unsubscribe(listener: () => void): void {
    if (this.listener === listener) this.listener = undefined;
    else this.others?.delete(listener);
  }
}
