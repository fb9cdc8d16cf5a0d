import type { MigrationInterface, QueryRunner } from 'typeorm';
import { allSpans } from './0006-spans.js';
import { findingOfExecution } from './0007-semantic-errors.js';

const further = ['semantic_call_id'];
const sameKey = ` AND told.key_id IS NOT DISTINCT FROM execution.metadata->>'keyId'`;

/** A span takes the place of an execution only if it came with the key of the call: others may name the execution as well. */
export class PairsByKey1764000150000 implements MigrationInterface {
  readonly name = 'PairsByKey1764000150000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE OR REPLACE VIEW all_spans AS ${allSpans(findingOfExecution, further, sameKey)}`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE OR REPLACE VIEW all_spans AS ${allSpans(findingOfExecution, further)}`);
  }
}
