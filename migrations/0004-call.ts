import { FirstTables } from './first-tables.js';

const circuits = `
  -- What happened to the circuits of tools, and who did it by hand.
  CREATE TABLE circuit_transitions (
    transition_id uuid PRIMARY KEY,
    seq           bigint GENERATED ALWAYS AS IDENTITY,
    tool          text NOT NULL,
    from_state    text NOT NULL CHECK (from_state IN ('closed', 'open', 'half_open')),
    to_state      text NOT NULL CHECK (to_state IN ('closed', 'open', 'half_open')),
    reason        text NOT NULL,
    changed_by    text,
    at            timestamptz NOT NULL,
    -- How often in a row it had opened: after a restart the circuit goes on waiting as long as it had come to.
    openings      integer NOT NULL DEFAULT 0,
    replica       text,
    -- Of that replica alone.
    local         boolean NOT NULL DEFAULT false
  );
  CREATE INDEX idx_circuit_transitions_tool ON circuit_transitions (tool, seq DESC);
  CREATE INDEX circuit_transitions_by_seq ON circuit_transitions (seq);
  CREATE TRIGGER circuit_transitions_changed AFTER INSERT ON circuit_transitions
    FOR EACH STATEMENT EXECUTE FUNCTION toolkeeper_changed();

  -- Which replica may let calls of an open circuit through to try the tool.
  CREATE TABLE circuit_probes (
    tool       text PRIMARY KEY,
    replica    text NOT NULL,
    held_until timestamptz NOT NULL
  )`;

const repetition = `
  -- Calls that came with an Idempotency-Key.
  CREATE TABLE idempotency_keys (
    -- The hash of caller, tool and key.
    scope      text PRIMARY KEY,
    tool       text NOT NULL,
    input_hash text NOT NULL,
    -- The id of the execution that has the key; until there is an outcome its gateway keeps the claim alive.
    claim      uuid NOT NULL,
    held_until timestamptz NOT NULL,
    -- Its JSON, as it was answered.
    outcome    text,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    -- Tells a call that was claimed and never given to its tool from one whose result is unknown.
    begun      boolean NOT NULL DEFAULT true
  );
  CREATE INDEX idempotency_keys_expired ON idempotency_keys (expires_at)`;

const investigations = `
  -- Unused: budgets are rows of call_counters. Backups that hold this table can be restored.
  CREATE TABLE investigations (
    project          text NOT NULL,
    investigation_id text NOT NULL,
    resets_at        timestamptz(3) NOT NULL,
    used_at          timestamptz NOT NULL,
    budget           json NOT NULL,
    PRIMARY KEY (project, investigation_id)
  );
  CREATE INDEX investigations_by_end ON investigations (resets_at)`;

/** Circuits of tools, and calls that came with an Idempotency-Key. */
export class Call1764000040000 extends FirstTables {
  protected readonly statements = [circuits, repetition, investigations];
}
