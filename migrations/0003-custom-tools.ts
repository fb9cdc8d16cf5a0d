import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Registered executables (seed 003), and which tool.json files were already imported. */
export class CustomTools1732200030000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE custom_tools (
        id uuid PRIMARY KEY,
        name text NOT NULL UNIQUE,
        description text NOT NULL,
        version text NOT NULL,
        command text NOT NULL,
        args jsonb NOT NULL DEFAULT '[]',
        working_dir text,
        env jsonb NOT NULL DEFAULT '{}',
        input_schema jsonb NOT NULL,
        timeout_ms integer NOT NULL DEFAULT 30000,
        max_retries integer NOT NULL DEFAULT 0,
        retry_delay_ms integer NOT NULL DEFAULT 1000,
        pool_size integer NOT NULL DEFAULT 1,
        min_processes integer NOT NULL DEFAULT 0,
        max_concurrency integer NOT NULL DEFAULT 1,
        keep_alive boolean NOT NULL DEFAULT false,
        annotations jsonb NOT NULL DEFAULT '{}',
        sandbox jsonb,
        permissions jsonb,
        fallback jsonb,
        calls_per_investigation integer,
        status text NOT NULL DEFAULT 'inactive' CHECK (status IN ('active', 'inactive', 'error')),
        last_health_check timestamptz,
        health_status text NOT NULL DEFAULT 'unknown'
          CHECK (health_status IN ('healthy', 'degraded', 'unhealthy', 'unknown')),
        error_message text,
        tags jsonb NOT NULL DEFAULT '[]',
        metadata jsonb NOT NULL DEFAULT '{}',
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
      )`);
    await runner.query(`CREATE INDEX idx_custom_tools_status ON custom_tools (status)`);
    // Kept when its tool is deleted over the API: the tool stays deleted until the file's content changes.
    await runner.query(`
      CREATE TABLE custom_tool_imports (
        path text PRIMARY KEY,
        content_hash text NOT NULL,
        imported_at timestamptz NOT NULL DEFAULT now()
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE custom_tool_imports`);
    await runner.query(`DROP TABLE custom_tools`);
  }
}
