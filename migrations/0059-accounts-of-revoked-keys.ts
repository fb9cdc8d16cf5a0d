import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Accounts end with their key: those of keys that were revoked before are deleted. */
export class AccountsOfRevokedKeys1764000590000 implements MigrationInterface {
  readonly name = 'AccountsOfRevokedKeys1764000590000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'DELETE FROM accounts a USING api_keys k WHERE a.user_id = k.key_id AND k.revoked_at IS NOT NULL',
    );
  }

  async down(): Promise<void> {
    // No key comes back after it was revoked.
  }
}
