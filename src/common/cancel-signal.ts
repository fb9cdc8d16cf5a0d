type AbortListener = (() => void) | { handleEvent(): void };

/** The part of an AbortSignal that running work needs: whether, when and why it is not wanted any more. */
export interface CancelSignal {
  readonly aborted: boolean;
  readonly reason?: unknown;
  addEventListener(type: 'abort', listener: AbortListener, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: AbortListener): void;
}

/**
 * A signal for one call. An AbortController keeps weak references and finalizers, which take the engine 4 µs a call and
 * more than this whole class; hardly any call is ever cancelled. Listeners are called once, in their order.
 */
export class CallSignal implements CancelSignal {
  aborted = false;
  private listeners: AbortListener[] | undefined;

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    // One listener may take away another.
    for (let listener = this.listeners?.shift(); listener; listener = this.listeners?.shift()) {
      if (typeof listener === 'function') listener();
      else listener.handleEvent();
    }
  }

  addEventListener(_type: 'abort', listener: AbortListener): void {
    if (!this.aborted) (this.listeners ??= []).push(listener);
  }

  removeEventListener(_type: 'abort', listener: AbortListener): void {
    const at = this.listeners?.indexOf(listener) ?? -1;
    if (at !== -1) this.listeners?.splice(at, 1);
  }
}

/** Of a caller who never leaves. */
export const neverAborted: CancelSignal = {
  aborted: false,
  addEventListener: () => undefined,
  removeEventListener: () => undefined,
};

/** The same signal where a library wants Node's own. */
export function asAbortSignal(signal: CancelSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  if (signal.aborted) controller.abort(signal.reason);
  else signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true });
  return controller.signal;
}
