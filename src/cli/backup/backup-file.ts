import { createReadStream, createWriteStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from, to } from 'pg-copy-streams';
import { jobsSchema } from '../../base/jobs/queue.js';
import { CliError } from '../output.js';

/** The description of a backup: `backup.json` in its archive. */
export interface Manifest {
  readonly format: 1;
  /** Version of Toolkeeper. */
  readonly version: string;
  readonly madeAt: string;
  /** Names of the applied migrations. */
  readonly migrations: readonly string[];
  /** Version of the job queue's tables; null if no job was ever queued. */
  readonly jobs: number | null;
  /** Partitions to create before rows are copied: the SQL function that makes a table's partition of a day, and the day. */
  readonly days: readonly { readonly maker: string; readonly day: string }[];
  readonly tables: readonly Table[];
  readonly sequences: readonly { readonly name: string; readonly value: string | null }[];
}

/** A table to copy. Names are quoted for SQL. A partitioned table includes its partitions. */
interface Table {
  readonly name: string;
  readonly columns: string;
}

/** A join condition: tables of Toolkeeper and of its job queue. */
const inOurSchemas = `pg_namespace.oid = relnamespace AND nspname IN (current_schema(), '${jobsSchema}')`;

/** All tables except those that migrations or a running server fill. */
const selectTables = `
  SELECT pg_class.oid::regclass::text AS name, string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns
  FROM pg_class JOIN pg_namespace ON ${inOurSchemas}
    JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
  WHERE relkind IN ('r', 'p') AND NOT relispartition
    AND relname NOT IN ('migrations', 'replicas', 'tool_events_epoch')
  GROUP BY pg_class.oid ORDER BY 1`;

/** The partitions by day: tables whose name ends with a date, and whose parent has a function `make_…_day`. */
const selectDays = `
  SELECT maker, regexp_replace(child.relname, '.*(\\d{4})(\\d\\d)(\\d\\d)$', '\\1-\\2-\\3') AS day
  FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid JOIN pg_class AS parent ON parent.oid = inhparent,
    LATERAL (SELECT 'make_' || parent.relname || '_day' AS maker) AS named
  WHERE child.relname ~ '_\\d{8}$' AND to_regprocedure(maker || '(date)') IS NOT NULL
  ORDER BY 1, 2`;

/** All sequences. Unused ones have no value. */
const selectSequences = `
  SELECT seqrelid::regclass::text AS name, pg_sequence_last_value(seqrelid)::text AS value
  FROM pg_sequence JOIN pg_class ON pg_class.oid = seqrelid JOIN pg_namespace ON ${inOurSchemas}`;

/** The file with the rows of the manifest's table at this index. */
const fileOf = (index: number): string => `${index}.copy`;

/** Writes a consistent snapshot of the database to a folder. @returns names of the files */
export async function dump(client: pg.Client, folder: string, version: string): Promise<string[]> {
  const rows = async <Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> =>
    (await client.query<Row>(sql)).rows;
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
  const tables = await rows<Manifest['tables'][number]>(selectTables);
  const days = await rows<Manifest['days'][number]>(selectDays);
  const migrations = (await rows<{ name: string }>('SELECT name FROM migrations ORDER BY id')).map(
    ({ name }) => name,
  );
  const hasJobs = tables.some(({ name }) => name === `${jobsSchema}.version`);
  const [queue] = hasJobs ? await rows<{ version: number }>(`SELECT version FROM ${jobsSchema}.version`) : [];
  for (const [index, { name, columns }] of tables.entries()) {
    const source = client.query(to(`COPY (SELECT ${columns} FROM ${name}) TO STDOUT`));
    await pipeline(source, createWriteStream(join(folder, fileOf(index)), { mode: 0o600 }));
  }
  // Sequences ignore transactions. Read last, so that their values are beyond all copied rows.
  const sequences = await rows<Manifest['sequences'][number]>(selectSequences);
  await client.query('COMMIT');
  const manifest: Manifest = {
    format: 1,
    version,
    madeAt: new Date().toISOString(),
    migrations,
    jobs: queue?.version ?? null,
    days,
    tables,
    sequences,
  };
  await writeFile(join(folder, 'backup.json'), JSON.stringify(manifest), { mode: 0o600 });
  return ['backup.json', ...tables.map((_, index) => fileOf(index))];
}

/** The manifest of an unpacked backup. @throws CliError if there is none */
export async function manifestIn(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, 'backup.json'), 'utf8').catch(() => '{}');
  const manifest = JSON.parse(text) as Manifest;
  if (manifest.format !== 1) throw new CliError('the file is no backup that this version can read');
  return manifest;
}

/** Fills a migrated database with a backup, in one transaction. */
export async function fill(client: pg.Client, folder: string, manifest: Manifest): Promise<void> {
  const { tables, days, sequences } = manifest;
  await client.query('BEGIN');
  // Disables triggers and foreign keys in this transaction, because the rows are consistent already.
  await client.query('SET LOCAL session_replication_role = replica');
  await client.query(`TRUNCATE ${tables.map(({ name }) => name).join(', ')}`);
  for (const { maker, day } of days) await client.query(`SELECT ${maker}($1::date)`, [day]);
  for (const [index, { name, columns }] of tables.entries()) {
    const sink = client.query(from(`COPY ${name} (${columns}) FROM STDIN`));
    await pipeline(createReadStream(join(folder, fileOf(index))), sink);
  }
  for (const { name, value } of sequences)
    if (value !== null) await client.query('SELECT setval($1::regclass, $2)', [name, value]);
  await client.query('COMMIT');
  await client.query('ANALYZE');
}
