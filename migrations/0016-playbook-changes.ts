import type { MigrationInterface, QueryRunner } from 'typeorm';

const lists = ['signals', 'aliases'] as const;
/** What search reads of a playbook: statistics and texts that it does not read change without a new revision. */
const searched =
  'name, description, labels, signals, aliases, when_to_use, when_not_to_use, status, is_latest_version';

/**
 * What becomes of stored playbooks: who changed a status, when and why; outcomes of their use; and the catalogue's
 * revision, by which every replica notices a change, whoever made it.
 */
export class PlaybookChanges1732200160000 implements MigrationInterface {
  readonly name = 'PlaybookChanges1732200160000';

  async up(runner: QueryRunner): Promise<void> {
    for (const list of lists) {
      await runner.query(`ALTER TABLE playbook_catalog ADD COLUMN new_${list} text[] NOT NULL DEFAULT '{}'`);
      await runner.query(
        `UPDATE playbook_catalog SET new_${list} = ARRAY(SELECT jsonb_array_elements_text(${list}))`,
      );
      await runner.query(`ALTER TABLE playbook_catalog DROP COLUMN ${list}`);
      await runner.query(`ALTER TABLE playbook_catalog RENAME COLUMN new_${list} TO ${list}`);
    }
    await this.createRecords(runner);
    await this.createRevision(runner);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TRIGGER playbook_catalog_changed ON playbook_catalog');
    await runner.query('DROP FUNCTION playbook_catalog_changed()');
    await runner.query('DROP TABLE playbook_catalog_state, playbook_outcomes, playbook_status_changes');
    for (const list of lists) {
      await runner.query(
        `ALTER TABLE playbook_catalog ADD COLUMN old_${list} jsonb NOT NULL DEFAULT '[]'
           CHECK (jsonb_typeof(old_${list}) = 'array')`,
      );
      await runner.query(`UPDATE playbook_catalog SET old_${list} = to_jsonb(${list})`);
      await runner.query(`ALTER TABLE playbook_catalog DROP COLUMN ${list}`);
      await runner.query(`ALTER TABLE playbook_catalog RENAME COLUMN old_${list} TO ${list}`);
    }
  }

  private async createRecords(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE playbook_status_changes (
        id uuid PRIMARY KEY,
        playbook_id text NOT NULL,
        version text NOT NULL,
        from_status text NOT NULL,
        to_status text NOT NULL,
        changed_at timestamptz NOT NULL DEFAULT now(),
        changed_by text NOT NULL,
        reason text,
        FOREIGN KEY (playbook_id, version) REFERENCES playbook_catalog ON DELETE CASCADE
      )`);
    await runner.query(`
      CREATE INDEX playbook_status_changes_of ON playbook_status_changes (playbook_id, version, changed_at)`);
    // Only outcomes that name their execution, so that one that is reported twice counts once.
    await runner.query(`
      CREATE TABLE playbook_outcomes (
        playbook_id text NOT NULL,
        version text NOT NULL,
        execution_id text NOT NULL,
        success boolean NOT NULL,
        recorded_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (playbook_id, version, execution_id),
        FOREIGN KEY (playbook_id, version) REFERENCES playbook_catalog ON DELETE CASCADE
      )`);
  }

  private async createRevision(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE playbook_catalog_state (
        singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
        revision bigint NOT NULL
      )`);
    await runner.query('INSERT INTO playbook_catalog_state (revision) VALUES (1)');
    // A trigger, so that a row changed by hand is followed as well. The counter's row is held until the commit:
    // revisions become visible in their order, and none can be skipped by a reader.
    await runner.query(`
      CREATE FUNCTION playbook_catalog_changed() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE playbook_catalog_state SET revision = revision + 1;
        PERFORM pg_notify('playbook_catalog', '');
        RETURN NULL;
      END $$`);
    await runner.query(`
      CREATE TRIGGER playbook_catalog_changed
      AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF ${searched} ON playbook_catalog
      FOR EACH STATEMENT EXECUTE FUNCTION playbook_catalog_changed()`);
  }
}
