import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Versioned remediation procedures (DD-STORAGE-008), without embeddings. */
export class PlaybookCatalog1732200040000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE playbook_catalog (
        playbook_id text NOT NULL,
        version text NOT NULL,
        name text NOT NULL,
        description text NOT NULL,
        owner text,
        maintainer text,
        -- json, not jsonb: the author's order of steps and keys is kept
        content json NOT NULL,
        content_hash text NOT NULL CHECK (content_hash ~ '^[0-9a-f]{64}$'),
        labels jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(labels) = 'object'),
        signals jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(signals) = 'array'),
        aliases jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(aliases) = 'array'),
        when_to_use text,
        when_not_to_use text,
        status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled', 'deprecated', 'archived')),
        disabled_at timestamptz,
        disabled_by text,
        disabled_reason text,
        is_latest_version boolean NOT NULL DEFAULT false,
        previous_version text,
        deprecation_notice text,
        version_notes text,
        change_summary text,
        approved_by text,
        approved_at timestamptz,
        expected_success_rate numeric(4, 3) CHECK (expected_success_rate BETWEEN 0 AND 1),
        expected_duration_seconds integer CHECK (expected_duration_seconds >= 0),
        actual_success_rate numeric(4, 3) CHECK (actual_success_rate BETWEEN 0 AND 1),
        total_executions integer NOT NULL DEFAULT 0 CHECK (total_executions >= 0),
        successful_executions integer NOT NULL DEFAULT 0
          CHECK (successful_executions BETWEEN 0 AND total_executions),
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        created_by text,
        updated_by text,
        PRIMARY KEY (playbook_id, version),
        CHECK ((status = 'disabled') = (disabled_at IS NOT NULL))
      )`);
    // The database itself refuses two latest versions, whatever a writer forgets.
    await runner.query(`
      CREATE UNIQUE INDEX idx_playbook_catalog_latest ON playbook_catalog (playbook_id) WHERE is_latest_version`);
    await runner.query(`CREATE INDEX idx_playbook_catalog_labels ON playbook_catalog USING gin (labels)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE playbook_catalog');
  }
}
