import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Browser sessions of people who signed in at an OpenID provider. */
export class ConsoleSessions1764000540000 implements MigrationInterface {
  readonly name = 'ConsoleSessions1764000540000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE console_sessions (
        -- SHA-256 of the cookie's value. A row never changes.
        session_hash text PRIMARY KEY,
        csrf_hash    text NOT NULL,
        issuer       text NOT NULL,
        subject      text NOT NULL,
        -- The provider's id of its session.
        sid          text,
        -- Of the ID token: access rules are evaluated on them.
        claims       jsonb NOT NULL,
        -- The ID token, sealed: the provider asks for it at the sign-out.
        id_token     text NOT NULL,
        began_at     timestamptz NOT NULL DEFAULT now(),
        expires_at   timestamptz NOT NULL
      )`);
    await runner.query('CREATE INDEX console_sessions_person ON console_sessions (issuer, subject)');
    await runner.query(`
      CREATE TRIGGER console_sessions_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON console_sessions
        FOR EACH STATEMENT EXECUTE FUNCTION toolkeeper_changed()`);
    await runner.query(`
      CREATE TABLE console_logouts (
        -- SHA-256 of issuer and id of a logout token, or of a sign-in: each is taken once.
        token_hash text PRIMARY KEY,
        at         timestamptz NOT NULL DEFAULT now(),
        -- Of a logout token: a sign-in under way does not outlive it.
        issuer     text,
        sid        text,
        subject    text,
        issued_at  double precision
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE console_logouts');
    await runner.query('DROP TABLE console_sessions');
  }
}
