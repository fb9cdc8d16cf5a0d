import { Injectable, Logger } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type QueryRunner } from 'typeorm';
import { KeyFileError } from '../../common/key-file.js';
import type { StoredEnv } from '../entity/stored-env.js';
import { SecretBox, SecretUnreadable } from './secret-box.js';

/** Where sealed environments stand. The names are ours, never a caller's: they go into SQL as they are. */
interface SealedColumn {
  readonly table: string;
  /** What tells a row from the others, as text. */
  readonly id: string;
  /** Column with the id of the tool that the values belong to. */
  readonly toolId: string;
  readonly env: string;
}

const sealedColumns: readonly SealedColumn[] = [
  { table: 'custom_tools', id: 'id', toolId: 'id', env: 'env' },
  { table: 'custom_tool_revisions', id: `(tool_id || '/' || revision)`, toolId: 'tool_id', env: 'env' },
];

/** 'secrets' in ASCII: no other work of ours takes this advisory lock. */
const lockKey = 0x00736563_72657473n;

interface Row {
  readonly id: string;
  readonly toolId: string;
  readonly env: StoredEnv;
}

export interface RenewalResult {
  readonly renewed: number;
  /** What could not be opened, one sentence each. */
  readonly unreadable: readonly string[];
}

/**
 * Brings every stored value under the key that encrypts now: values under an older key, and text from before there was
 * encryption. Afterwards the older keys can go.
 */
@Injectable()
export class SecretsRenewal {
  private readonly logger = new Logger(SecretsRenewal.name);

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly box: SecretBox,
  ) {}

  /** One replica does it; the others find the lock taken and leave it to that one. */
  async run(): Promise<RenewalResult | undefined> {
    const runner = this.dataSource.createQueryRunner();
    try {
      const [lock] = (await runner.query('SELECT pg_try_advisory_lock($1) AS taken', [
        lockKey.toString(),
      ])) as {
        taken: boolean;
      }[];
      if (!lock?.taken) return undefined;
      try {
        return await this.renewAll(runner);
      } finally {
        await runner.query('SELECT pg_advisory_unlock($1)', [lockKey.toString()]);
      }
    } finally {
      await runner.release();
    }
  }

  private async renewAll(runner: QueryRunner): Promise<RenewalResult> {
    const result = { renewed: 0, unreadable: [] as string[] };
    for (const column of sealedColumns) {
      for (const row of await this.rowsOf(runner, column)) {
        const outcome = await this.renew(runner, column, row);
        if (outcome === 'renewed') result.renewed++;
        else if (outcome !== 'current') result.unreadable.push(`${column.table} ${row.id}: ${outcome}`);
      }
    }
    if (result.renewed > 0)
      this.logger.log(`secrets of ${result.renewed} rows are encrypted under the first key now`);
    for (const sentence of result.unreadable) this.logger.error(sentence);
    return result;
  }

  private rowsOf(runner: QueryRunner, { table, id, toolId, env }: SealedColumn): Promise<Row[]> {
    return runner.query(
      `SELECT ${id}::text AS id, ${toolId}::text AS "toolId", ${env} AS env FROM ${table} WHERE ${env} <> '{}' ORDER BY ${id}`,
    ) as Promise<Row[]>;
  }

  private async renew(runner: QueryRunner, { table, id, env }: SealedColumn, row: Row): Promise<string> {
    try {
      const renewed = this.box.renew(row.toolId, row.env);
      if (renewed === row.env) return 'current';
      // Whoever changed the row meanwhile has used the new key already.
      await runner.query(`UPDATE ${table} SET ${env} = $1 WHERE ${id}::text = $2 AND ${env} = $3`, [
        JSON.stringify(renewed),
        row.id,
        JSON.stringify(row.env),
      ]);
      return 'renewed';
    } catch (error) {
      if (error instanceof SecretUnreadable || error instanceof KeyFileError) return error.message;
      throw error;
    }
  }
}
