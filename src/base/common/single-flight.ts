/** Shares running work: calls with the key of work that is in progress get its result or error, and start no work. */
export class SingleFlight<T> {
  private readonly flights = new Map<string, Promise<T>>();

  join(key: string, work: () => Promise<T>): Promise<T> {
    const known = this.flights.get(key);
    if (known) return known;
    const flight = work().finally(() => this.flights.delete(key));
    this.flights.set(key, flight);
    return flight;
  }
}
