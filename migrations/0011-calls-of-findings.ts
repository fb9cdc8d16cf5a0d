import type { MigrationInterface, QueryRunner } from 'typeorm';
import { allSpans } from './0006-spans.js';
import { findingOfExecution } from './0007-semantic-errors.js';

/** The tool call in whose result a finding stands, so that requests which repeat the result are no findings of their own. */
export class CallsOfFindings1764000110000 implements MigrationInterface {
  readonly name = 'CallsOfFindings1764000110000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE spans ADD COLUMN semantic_call_id text');
    await runner.query(
      `CREATE OR REPLACE VIEW all_spans AS ${allSpans(findingOfExecution, ['semantic_call_id'])}`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP VIEW all_spans');
    await runner.query('ALTER TABLE spans DROP COLUMN semantic_call_id');
    await runner.query(`CREATE VIEW all_spans AS ${allSpans(findingOfExecution)}`);
  }
}
