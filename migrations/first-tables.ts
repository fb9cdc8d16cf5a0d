import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Makes the first tables of a wing. */
export abstract class FirstTables implements MigrationInterface {
  protected abstract readonly statements: readonly string[];

  async up(runner: QueryRunner): Promise<void> {
    for (const sql of this.statements) await runner.query(sql);
  }

  down(): Promise<void> {
    throw new Error('There is no version before the first tables: drop the database instead.');
  }
}
