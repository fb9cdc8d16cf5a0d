/** The embedded server cannot be had; the message says why and names the way out. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';

  constructor(reason: string, options?: ErrorOptions) {
    super(
      `The embedded PostgreSQL cannot be used: ${reason}. ` +
        'Set DATABASE_URL (postgres://user:password@host:5432/database) to use a PostgreSQL server of your own.',
      options,
    );
  }
}
