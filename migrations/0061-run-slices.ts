import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Figures of parts of runs. They are made when somebody asks for them, so that an existing store starts at once. */
export class RunSlices1764000610000 implements MigrationInterface {
  readonly name = 'RunSlices1764000610000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Figures of the spans of one run and thread that start within the same five minutes. They hold while the run has
      -- the version of which they were counted: each mark changes that. Times in microseconds since 1970.
      CREATE TABLE run_slices (
        project        text NOT NULL,
        run_id         text NOT NULL,
        version        bigint NOT NULL,
        thread_id      text,
        slot_us        bigint NOT NULL,
        -- Start of the first and of the last span, and the latest end.
        first_us       bigint NOT NULL,
        last_us        bigint NOT NULL,
        finish_us      bigint NOT NULL,
        spans          bigint NOT NULL,
        errors         bigint NOT NULL,
        -- Calls of models, each counted once; durations in milliseconds, without those of 0.
        calls          bigint NOT NULL,
        call_ms        bigint[],
        cost           numeric,
        input_tokens   numeric,
        output_tokens  numeric,
        root_failed    boolean NOT NULL,
        last_id        text NOT NULL,
        last_failed    boolean NOT NULL,
        trace_ids      text[] NOT NULL,
        request_models text[],
        used_models    text[],
        used_tools     text[],
        labels         text[],
        error_texts    text[],
        -- Each finding counts once in a run.
        findings       text[],
        -- The first spans without a parent in the run.
        root_starts    bigint[],
        root_ids       text[],
        root_operation text,
        -- When a model was called (1), a tool ran (2), or one of them failed (3); ends of other spans that failed (4).
        active_from    bigint[],
        active_to      bigint[],
        active_states  int[],
        -- The same, with pauses of less than half a minute: enough for a group that lasts long.
        rough_from     bigint[],
        rough_to       bigint[],
        rough_states   int[],
        FOREIGN KEY (project, run_id) REFERENCES run_figures ON DELETE CASCADE
      );
      CREATE UNIQUE INDEX run_slices_by_run ON run_slices
        (project, run_id, version, slot_us, coalesce(thread_id, ''), (thread_id IS NULL));
      CREATE INDEX run_slices_by_time ON run_slices (project, slot_us);
      -- The version of which a run has slices. Marks change the version, so that an index knows the runs that changed.
      ALTER TABLE run_figures ADD COLUMN counted bigint;
      CREATE INDEX run_figures_uncounted ON run_figures (project) WHERE counted IS DISTINCT FROM version`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE run_slices; ALTER TABLE run_figures DROP COLUMN counted');
  }
}
