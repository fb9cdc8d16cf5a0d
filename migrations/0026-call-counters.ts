import type { MigrationInterface, QueryRunner } from 'typeorm';

const counters = `
  -- What calls are counted by, for all replicas: budgets of investigations, and rates of keys and addresses.
  CREATE TABLE call_counters (
    kind      text NOT NULL CHECK (kind IN ('budget', 'rate')),
    -- Empty: of callers without a key; rates have none.
    project   text NOT NULL,
    -- The investigation; of a rate its key or address.
    subject   text NOT NULL,
    -- The tool; empty: the whole investigation, or a rate.
    name      text NOT NULL,
    used      integer NOT NULL DEFAULT 0,
    -- An operator's limit, and the tool's own as of its last call.
    set_limit integer,
    own_limit integer,
    resets_at timestamptz NOT NULL,
    used_at   timestamptz NOT NULL,
    -- Of the last statement: the count before it, the calls it asked for, the calls it brought along.
    prev      integer NOT NULL DEFAULT 0,
    asked     integer NOT NULL DEFAULT 0,
    carried   integer NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, project, subject, name)
  ) WITH (fillfactor = 70)`;

/** Budgets and rates that all replicas count together. */
export class CallCounters1764000260000 implements MigrationInterface {
  readonly name = 'CallCounters1764000260000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(counters);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE call_counters');
  }
}
