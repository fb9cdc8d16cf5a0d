import pg from 'pg';

const goodbyeMs = 1_000;

/** A connection whose end does not hang on the server, and that lives through its own. */
export class DatabaseClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    // The pool stops listening to a connection a moment before TypeORM begins: an error in between has no listener and
    // would end the process. The connection's user is told by its next query.
    this.on('error', () => undefined);
  }

  override end(): Promise<void>;
  override end(done: (error: Error) => void): void;
  override end(done?: (error: Error) => void): Promise<void> | void {
    // The other side closes the connection; one that is frozen would leave it open for ever.
    const timer = setTimeout(() => this.connection.stream.destroy(), goodbyeMs);
    this.connection.once('end', () => clearTimeout(timer));
    return done ? super.end(done) : super.end();
  }
}
