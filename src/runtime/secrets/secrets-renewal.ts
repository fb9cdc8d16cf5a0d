import { Injectable, Logger } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { KeyFileError } from '../../base/config/key-file.js';
import { type StoredEnv, EnvCipher, SecretUnreadable } from './env-cipher.js';

/** Tables with a column `env` of encrypted values, and SQL for their row id and for the id that the encryption binds. */
const sealedTables = [
  { table: 'custom_tools', id: 'id::text', toolId: 'id' },
  { table: 'custom_tool_revisions', id: `(tool_id || '/' || revision)`, toolId: 'tool_id' },
  {
    table: 'accounts',
    id: `(server_id || ' ' || user_id)`,
    toolId: `('account ' || server_id || ' ' || user_id)`,
  },
];

/** The advisory lock of a renewal: "secrets" in ASCII. */
const lockKey = 0x00736563_72657473n;

/** Encrypts every stored value with the primary key, so that older keys can be removed. */
@Injectable()
export class SecretsRenewal {
  private readonly logger = new Logger(SecretsRenewal.name);

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly cipher: EnvCipher,
  ) {}

  /** Renews all rows, unless another replica holds the lock and does it. */
  run(): Promise<void> {
    return this.dataSource.transaction(async (sql) => {
      const [lock] = await sql.query<{ taken: boolean }[]>('SELECT pg_try_advisory_xact_lock($1) AS taken', [
        String(lockKey),
      ]);
      if (!lock?.taken) return;
      let renewed = 0;
      for (const { table, id, toolId } of sealedTables) {
        const rows = await sql.query<{ id: string; tool: string; env: StoredEnv }[]>(
          `SELECT ${id} AS id, ${toolId}::text AS tool, env FROM ${table} WHERE env <> '{}' ORDER BY 1`,
        );
        for (const row of rows) {
          const env = this.renew(row.tool, row.env, `${table} ${row.id}`);
          if (env === row.env) continue;
          // A row that changed meanwhile is encrypted with the new key already.
          const values = [JSON.stringify(env), row.id, JSON.stringify(row.env)];
          await sql.query(`UPDATE ${table} SET env = $1 WHERE ${id} = $2 AND env = $3`, values);
          renewed++;
        }
      }
      if (renewed > 0) this.logger.log(`secrets of ${renewed} rows are encrypted under the first key now`);
    });
  }

  /** The values under the primary key. Logs an error and returns them unchanged if they cannot be decrypted. */
  private renew(toolId: string, env: StoredEnv, row: string): StoredEnv {
    try {
      return this.cipher.renew(toolId, env);
    } catch (error) {
      if (!(error instanceof SecretUnreadable || error instanceof KeyFileError)) throw error;
      this.logger.error(`${row}: ${error.message}`);
      return env;
    }
  }
}
