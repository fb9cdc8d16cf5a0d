import type { MigrationInterface, QueryRunner } from 'typeorm';
import { allSpans } from './0006-spans.js';

const found = (member: string): string => `metadata->'semanticError'->>'${member}'`;
const ofResult = `CASE WHEN metadata ? 'semanticError' THEN 'output' END`;

/** What was found in an execution's result: pattern, severity, source and snippet. */
export const findingOfExecution = [found('pattern'), found('severity'), ofResult, found('snippet')].join(
  ', ',
);

/** What becomes of an error that a custom tool's successful result tells of; executions show theirs among the spans. */
export class SemanticErrors1764000070000 implements MigrationInterface {
  readonly name = 'SemanticErrors1764000070000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE custom_tools
        ADD COLUMN semantic_errors text NOT NULL DEFAULT 'show' CHECK (semantic_errors IN ('off', 'show', 'mark'))`);
    await runner.query(`CREATE OR REPLACE VIEW all_spans AS ${allSpans(findingOfExecution)}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE OR REPLACE VIEW all_spans AS ${allSpans('NULL, NULL, NULL, NULL')}`);
    await runner.query('ALTER TABLE custom_tools DROP COLUMN semantic_errors');
  }
}
