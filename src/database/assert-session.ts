import { endsWithin } from '../common/abortable.js';
import { newId } from '../common/ids.js';
import { DatabaseClient } from './database-health.js';

/** Has no stack trace: the message is for the operator. */
class NoSession extends Error {
  constructor() {
    super(
      `A notification did not arrive within ${arrivesMs / 1_000} s: the address of the database leads to a pooler in transaction mode. ` +
        'Let DATABASE_SESSION_URL name the direct address of the same database, or set the pooler to session mode.',
    );
    this.stack = this.message;
  }
}

const arrivesMs = 10_000;
const connectMs = 10_000;

/**
 * Checks that a connection gets notifications. Through a pooler in transaction mode it gets none: the session that
 * listens is another client's in the next moment.
 * @throws NoSession, or the driver's error
 */
export async function assertSession(url: string): Promise<void> {
  const [listener, sender] = [clientOf(url), clientOf(url)];
  const arrived = Promise.withResolvers<void>();
  listener.once('notification', () => arrived.resolve());
  try {
    await listener.connect();
    const channel = `toolkeeper_${newId().replaceAll('-', '')}`;
    await listener.query(`LISTEN ${channel}`);
    await sender.connect();
    await sender.query('SELECT pg_notify($1, $2)', [channel, '']);
    if (!(await endsWithin(arrivesMs, arrived.promise))) throw new NoSession();
  } finally {
    await Promise.all([listener.end(), sender.end()]);
  }
}

const clientOf = (connectionString: string): DatabaseClient =>
  new DatabaseClient({
    connectionString,
    application_name: 'toolkeeper-start',
    connectionTimeoutMillis: connectMs,
  });
