/** A function that receives events. */
export type Listener<T> = (event: T) => void;

/** Synchronous events of one type. An error of a listener goes to `onListenerError`; the other listeners are still called. */
export class TypedEvents<T> {
  private readonly listeners = new Set<Listener<T>>();

  constructor(private readonly onListenerError: (error: unknown) => void) {}

  get hasListeners(): boolean {
    return this.listeners.size > 0;
  }

  /** Adds a listener. @returns a function that ends the subscription */
  subscribe(listener: Listener<T>): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  emit(event: T): void {
    for (const listener of this.listeners) {
      try {
        listener(event);
      } catch (error) {
        this.onListenerError(error);
      }
    }
  }
}
