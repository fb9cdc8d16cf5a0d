/** Shares running work: calls with the key of work that is in progress get its result or error, and start no work. */
export class SingleFlight<T> {
  private readonly flights = new Map<string, Promise<T>>();

  join(key: string, work: () => Promise<T>): Promise<T> {
    const flight = this.flights.get(key) ?? work().finally(() => this.flights.delete(key));
    this.flights.set(key, flight);
    return flight;
  }
}
