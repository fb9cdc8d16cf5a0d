import { Logger } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { endsWithin } from '../common/abortable.js';
import { DatabaseUnavailable } from '../common/errors.js';
import { IntervalLoop } from '../common/interval-loop.js';
import { TypedEvents } from '../common/typed-events.js';
import type { PartHealth } from '../observability/contributors.js';

/** Pause before a failed ping is repeated. */
const retryPauseMs = 1_000;

/** Wait for the database after which a ping starts, so that the first request after a network failure fails within a second. */
export const suspiciousMs = 300;

/** Min timeout of a ping that a waiting statement started; a server with a long response time gets more. */
const suspectMs = 500;
/** Max difference of this machine's clock and the database's that is not reported. */
const maxClockMs = 2_000;
const selectTime = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms';

/** The channel of all notifications; the payload is the name of the table that changed. */
const channel = 'toolkeeper';

/**
 * The replica's own database session, outside the pool, because a busy pool does not show whether the server answers. It
 * pings, receives notifications of changes, and holds locks that must end with the replica.
 */
export class DatabaseHealth {
  private readonly logger = new Logger('Database');
  private readonly loop: IntervalLoop;
  private client: DatabaseClient | undefined;
  /** The result of the last ping. */
  private part: PartHealth = { status: 'up', responseTime: 0 };
  /** The database's time: `ms` since the epoch when performance.now() was `at`, with its max error. */
  private time: { readonly ms: number; readonly at: number; readonly errorMs: number } | undefined;
  /** Number of pings that failed in a row. */
  private failures = 0;
  /** Reason why the last pings had no answer, not even a refusal; undefined while the server answers. */
  private silence: string | undefined;
  private isListening = false;
  /** The ping that `suspect` has started. */
  private suspectCheck: Promise<void> | undefined;
  /** Emits the name of each table that changed. */
  readonly changes = new TypedEvents<string>((error) => this.logger.error(error));
  /** Emits when a new connection listens: notifications before it are lost, and so are the session's locks. */
  readonly connections = new TypedEvents<void>((error) => this.logger.error(error));

  /**
   * @param pingMs pause between two pings, and the timeout of each
   * @param onSilence called if two pings in a row have no answer, so that waiting statements can be ended
   */
  constructor(
    private readonly url: string,
    private readonly pingMs: number,
    private readonly onSilence: () => void,
  ) {
    this.loop = new IntervalLoop(
      () => this.ping(),
      pingMs,
      (error) => this.logger.error(error),
    );
  }

  /** Resolves when the database's time is known, or the first ping has failed. */
  async start(): Promise<void> {
    await this.ping();
    this.loop.start();
  }

  async stop(): Promise<void> {
    this.disconnect();
    await this.loop.stop();
  }

  /** The result of the last ping, for readiness. The reason of a failure is only logged, because it names hosts and users. */
  check(): PartHealth {
    return this.part;
  }

  /** The database's time, in milliseconds since the epoch; this machine's until it is known. */
  now(): number {
    return this.time ? this.time.ms + performance.now() - this.time.at : Date.now();
  }

  /** Compares this machine's clock with the database's; `degraded` beyond 2 s. */
  checkClock(): PartHealth {
    const aheadMs = Math.round(Date.now() - this.now());
    if (Math.abs(aheadMs) <= maxClockMs + (this.time?.errorMs ?? 0)) return { status: 'up' };
    const difference = `${Math.abs(aheadMs / 1_000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
    return { status: 'degraded', message: `this machine's clock is ${difference} the database's`, aheadMs };
  }

  /** Whether notifications of changes arrive. */
  get listens(): boolean {
    return this.isListening;
  }

  /** Runs a short statement in this session. @throws DatabaseUnavailable without a connection, or the driver's error */
  async query<Row extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    if (!this.client || !this.isListening) throw new DatabaseUnavailable(this.silence ?? 'not connected');
    return (await this.client.queryInTurn<Row>(text, values)).rows;
  }

  /** Asserts that the database answers. @throws DatabaseUnavailable while the last two pings had no answer */
  assertAnswers(): void {
    if (this.silence !== undefined) throw new DatabaseUnavailable(this.silence);
  }

  /** Pings at once. Call it if a statement had no answer for `suspiciousMs`. */
  suspect(): void {
    this.suspectCheck ??= this.checkNow().finally(() => (this.suspectCheck = undefined));
  }

  /** Pings, and counts a ping without an answer as a failure. */
  private async checkNow(): Promise<void> {
    const { client } = this;
    if (!client || !this.isListening) return;
    const maxMs = Math.max(suspectMs, 3 * Number(this.part['responseTime'] ?? 0));
    let isAnswered = false;
    const answer = client
      .queryInTurn('SELECT 1')
      .catch(() => undefined)
      .then(() => (isAnswered = true));
    await endsWithin(maxMs, answer);
    // A busy event loop may fire the timer before it reads an answer that has arrived.
    await nextTurn();
    if (isAnswered || client !== this.client) return;
    this.disconnect();
    // One is enough here: the answer was also looked for after the timeout.
    this.failures = 2;
    this.onFailure(new Error(`no answer within ${maxMs} ms`), maxMs);
    this.loop.hasten(retryPauseMs);
  }

  /** Asks the database for its time, and notes the result. */
  private async ping(): Promise<void> {
    const startedAt = performance.now();
    const elapsedMs = (): number => Math.round(performance.now() - startedAt);
    try {
      const client = this.client ?? (await this.connect());
      const { rows } = await client.queryInTurn<{ ms: number }>(selectTime);
      const errorMs = elapsedMs() / 2;
      this.time = { ms: rows[0]?.ms ?? 0, at: startedAt + errorMs, errorMs };
      if (this.part.status === 'down') this.logger.log('The database answers again');
      this.part = { status: 'up', responseTime: elapsedMs() };
      this.silence = undefined;
      this.failures = 0;
    } catch (error) {
      this.disconnect();
      this.failures += 1;
      this.loop.hasten(this.failures === 1 ? 0 : retryPauseMs);
      // One failure may be our own: a busy event loop may fire timers before it reads the answer.
      if (this.failures > 1) this.onFailure(error as NodeJS.ErrnoException, elapsedMs());
    }
  }

  /** Notes that the database does not answer. */
  private onFailure(error: NodeJS.ErrnoException, responseTime: number): void {
    // A host with several addresses fails once for each, with a code and no message.
    const reason = error.message || String(error.code);
    if (this.part.status === 'up') this.logger.error(`The database does not answer: ${reason}`);
    this.part = { status: 'down', message: 'does not answer', responseTime };
    // Connections that are open may still work if new ones are refused, unless the server starts or stops.
    const isRefusal = error instanceof pg.DatabaseError && !error.code?.startsWith('57P');
    this.silence = isRefusal ? undefined : reason;
    if (!isRefusal) this.onSilence();
  }

  private async connect(): Promise<DatabaseClient> {
    const client = new DatabaseClient({
      connectionString: this.url,
      application_name: 'toolkeeper-listener',
      connectionTimeoutMillis: this.pingMs,
      query_timeout: this.pingMs,
      keepAlive: true,
    });
    client.once('end', () => {
      if (this.client !== client) return;
      this.disconnect();
      this.loop.hasten(0);
    });
    client.on('notification', ({ payload = '' }) => this.changes.emit(payload));
    this.client = client;
    await client.connect();
    await client.queryInTurn(`LISTEN ${channel}`);
    this.isListening = true;
    this.connections.emit();
    return client;
  }

  /** Closes the session. The next ping opens another. */
  private disconnect(): void {
    const { client } = this;
    this.client = undefined;
    this.isListening = false;
    void client?.end().catch(() => undefined);
  }
}

/** Max wait for the server to close a connection. */
const goodbyeMs = 1_000;

/** A connection that can be closed without the server's answer, and whose errors do not end the process. */
export class DatabaseClient extends pg.Client {
  /** Ends with the last statement of `queryInTurn`. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(config: pg.ClientConfig) {
    super(config);
    // The pool removes its error listener a moment before TypeORM adds its own. An error in between would be uncaught
    // and end the process. The next query on the connection fails anyway.
    this.on('error', () => undefined);
  }

  /** Runs a statement when those before it have ended, because the driver warns about its own queue. */
  queryInTurn<Row extends pg.QueryResultRow>(
    text: string,
    values: unknown[] = [],
  ): Promise<pg.QueryResult<Row>> {
    const result = this.last.then(() => this.query<Row>(text, values));
    this.last = result.catch(() => undefined);
    return result;
  }

  override end(): Promise<void>;
  override end(done: (error: Error) => void): void;
  override end(done?: (error: Error) => void): Promise<void> | void {
    // Normally the server closes the connection; a frozen one never would.
    const timer = setTimeout(() => this.connection.stream.destroy(), goodbyeMs);
    this.connection.once('end', () => clearTimeout(timer));
    return done ? super.end(done) : super.end();
  }
}
