import { endsWithin } from '../common/abortable.js';
import { newId } from '../common/ids.js';
import { DatabaseClient } from './database-health.js';

const [arrivesMs, connectionTimeoutMillis] = [10_000, 10_000];

const noSession =
  `A notification did not arrive within ${arrivesMs / 1_000} s: the address of the database leads to a pooler in transaction mode. ` +
  'Let DATABASE_SESSION_URL name the direct address of the same database, or set the pooler to session mode.';

/** Has no stack trace: the message is for the operator. */
class NoSession extends Error {
  override readonly stack = this.message;
}

/**
 * Checks that a connection gets notifications. Through a pooler in transaction mode it gets none: the session that
 * listens is another client's in the next moment.
 * @throws NoSession, or the driver's error
 */
export async function assertSession(url: string): Promise<void> {
  const options = { connectionString: url, application_name: 'toolkeeper-start', connectionTimeoutMillis };
  const [listener, sender] = [new DatabaseClient(options), new DatabaseClient(options)];
  const arrived = Promise.withResolvers<void>();
  listener.once('notification', () => arrived.resolve());
  try {
    await listener.connect();
    const channel = `toolkeeper_${newId().replaceAll('-', '')}`;
    await listener.query(`LISTEN ${channel}`);
    await sender.connect();
    await sender.query('SELECT pg_notify($1, $2)', [channel, '']);
    if (!(await endsWithin(arrivesMs, arrived.promise))) throw new NoSession(noSession);
  } finally {
    await Promise.all([listener.end(), sender.end()]);
  }
}
