import { FirstTables } from './first-tables.js';

/** One channel for all tables that replicas follow. */
const notifications = `
  CREATE FUNCTION toolkeeper_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_notify('toolkeeper', TG_TABLE_NAME);
    RETURN NULL;
  END $$`;

const replicas = `
  CREATE TABLE replicas (
    -- Host, process and start.
    id         text PRIMARY KEY,
    host       text NOT NULL,
    version    text NOT NULL,
    -- Base URL at which other replicas reach it; NULL until it listens.
    address    text,
    -- Tier of its sandbox.
    tier       integer,
    started_at timestamptz NOT NULL,
    -- Its last heartbeat.
    seen_at    timestamptz NOT NULL,
    -- The parts of its readiness.
    parts      json NOT NULL
  )`;

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

/** Replicas on this database, their notifications, and counters. */
export class Base1764000010000 extends FirstTables {
  protected readonly statements = [notifications, replicas, counters];
}
