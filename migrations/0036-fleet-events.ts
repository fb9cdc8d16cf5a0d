import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Events of tools have the same ids at all replicas: those of this database, by their numbers. */
const events = `
  CREATE TABLE tool_events_epoch (epoch text NOT NULL);
  INSERT INTO tool_events_epoch SELECT left(md5(random()::text || clock_timestamp()::text), 12);
  CREATE TRIGGER tool_events_changed AFTER INSERT ON tool_events
    FOR EACH STATEMENT EXECUTE FUNCTION toolkeeper_changed()`;

/** Replicas hear of each other's events. */
export class FleetEvents1764000360000 implements MigrationInterface {
  readonly name = 'FleetEvents1764000360000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(events);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TRIGGER tool_events_changed ON tool_events; DROP TABLE tool_events_epoch');
  }
}
