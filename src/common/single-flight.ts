import { abortable } from './abortable.js';

interface Flight<T> {
  readonly result: Promise<T>;
  readonly cancel: AbortController;
  waiting: number;
}

/**
 * Equal questions that come while one is being answered wait for its answer, good or bad. The work is cancelled when
 * the last caller that waits has left; a caller that comes after that begins the work anew.
 */
export class SingleFlight<T> {
  private readonly flights = new Map<string, Flight<T>>();

  /** Questions that are being answered. */
  get size(): number {
    return this.flights.size;
  }

  /**
   * @param signal aborts when this caller waits no more; undefined: it waits to the end
   * @throws the signal's reason, or what the work throws
   */
  async join(
    key: string,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    const flight = this.flights.get(key) ?? this.begin(key, work);
    flight.waiting += 1;
    try {
      return await (signal ? abortable(flight.result, signal) : flight.result);
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0) this.cancel(key, flight);
    }
  }

  private begin(key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const cancel = new AbortController();
    const flight: Flight<T> = { result: work(cancel.signal), cancel, waiting: 0 };
    this.flights.set(key, flight);
    const landed = (): unknown => this.forget(key, flight);
    flight.result.then(landed, landed);
    return flight;
  }

  /** A flight that has landed is not aborted: aborting takes longer than all the rest of this. */
  private cancel(key: string, flight: Flight<T>): void {
    if (this.forget(key, flight)) flight.cancel.abort();
  }

  /** @returns whether it was still under way */
  private forget(key: string, flight: Flight<T>): boolean {
    return this.flights.get(key) === flight && this.flights.delete(key);
  }
}
