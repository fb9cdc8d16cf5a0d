import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Calls that came with an Idempotency-Key. `scope` is the hash of caller, tool and key; `claim` the id of the execution
 * that has it. Until `outcome` (its JSON, as it was answered) is there the claim is kept alive by its gateway.
 */
export class IdempotencyKeys1732200140000 implements MigrationInterface {
  readonly name = 'IdempotencyKeys1732200140000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE idempotency_keys (
        scope text PRIMARY KEY,
        tool text NOT NULL,
        input_hash text NOT NULL,
        claim uuid NOT NULL,
        held_until timestamptz NOT NULL,
        outcome text,
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL
      )
    `);
    await runner.query('CREATE INDEX idempotency_keys_expired ON idempotency_keys (expires_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE idempotency_keys');
  }
}
