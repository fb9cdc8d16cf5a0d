import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Sessions at an OpenID provider whose claims are renewed. Sessions that began before keep theirs to the end. */
export class SessionRenewals1764000600000 implements MigrationInterface {
  readonly name = 'SessionRenewals1764000600000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE console_sessions ADD COLUMN renew_at timestamptz;
      COMMENT ON COLUMN console_sessions.renew_at IS
        'From here on the claims are renewed before they are used; null: the provider gave no refresh token';
      COMMENT ON COLUMN console_sessions.id_token IS 'The ID token and the refresh token, sealed'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE console_sessions DROP COLUMN renew_at');
  }
}
