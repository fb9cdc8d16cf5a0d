import { Injectable, Logger } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { KeyFileError } from '../../base/config/key-file.js';
import { type StoredEnv, EnvCipher, SecretUnreadable } from './env-cipher.js';

/** Tables with a column `env` of encrypted values, and their key columns. */
const sealed = [
  { table: 'custom_tools', id: 'id::text', toolId: 'id' },
  { table: 'custom_tool_revisions', id: `(tool_id || '/' || revision)`, toolId: 'tool_id' },
  {
    table: 'accounts',
    id: `(server_id || ' ' || user_id)`,
    toolId: `('account ' || server_id || ' ' || user_id)`,
  },
];

/** 'secrets' in ASCII: no other work of ours takes this advisory lock. */
const lockKey = 0x00736563_72657473n;

/** Encrypts every stored value with the primary key, so that older keys can go. */
@Injectable()
export class SecretsRenewal {
  private readonly logger = new Logger(SecretsRenewal.name);

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly box: EnvCipher,
  ) {}

  /** One replica does it; the others find the lock taken and leave it to that one. */
  run(): Promise<void> {
    return this.dataSource.transaction(async (sql) => {
      const [lock] = await sql.query<{ taken: boolean }[]>('SELECT pg_try_advisory_xact_lock($1) AS taken', [
        String(lockKey),
      ]);
      if (!lock?.taken) return;
      let renewed = 0;
      for (const { table, id, toolId } of sealed) {
        const rows = await sql.query<{ id: string; tool: string; env: StoredEnv }[]>(
          `SELECT ${id} AS id, ${toolId}::text AS tool, env FROM ${table} WHERE env <> '{}' ORDER BY 1`,
        );
        for (const row of rows) {
          const env = this.renew(row.tool, row.env, `${table} ${row.id}`);
          if (env === row.env) continue;
          // A row that changed meanwhile has come under the new key already.
          const values = [JSON.stringify(env), row.id, JSON.stringify(row.env)];
          await sql.query(`UPDATE ${table} SET env = $1 WHERE ${id} = $2 AND env = $3`, values);
          renewed++;
        }
      }
      if (renewed > 0) this.logger.log(`secrets of ${renewed} rows are encrypted under the first key now`);
    });
  }

  /** @returns the values as they were if they cannot be opened, which is logged */
  private renew(toolId: string, env: StoredEnv, row: string): StoredEnv {
    try {
      return this.box.renew(toolId, env);
    } catch (error) {
      if (!(error instanceof SecretUnreadable || error instanceof KeyFileError)) throw error;
      this.logger.error(`${row}: ${error.message}`);
      return env;
    }
  }
}
