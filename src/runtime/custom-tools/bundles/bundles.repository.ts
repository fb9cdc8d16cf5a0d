import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** The uploaded files of a tool: a row of `tool_bundles` without the archive. */
export interface StoredBundle {
  readonly hash: string;
  readonly files: number;
  readonly bytes: number;
  readonly uploadedAt: Date;
}

/** Time for which an unused upload is kept, because its revision may not be stored yet. */
const unusedRetention = '1 hour';

/** Reads and writes the table `tool_bundles`. */
@Injectable()
export class BundlesRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** Restarts the retention of a bundle. @returns whether the bundle exists */
  async touch(hash: string): Promise<boolean> {
    const [, touched]: [unknown, number] = await this.dataSource.query(
      'UPDATE tool_bundles SET uploaded_at = now() WHERE hash = $1',
      [hash],
    );
    return touched > 0;
  }

  /** Stores a bundle, or touches it if another replica has stored the same files. */
  async insert(bundle: Omit<StoredBundle, 'uploadedAt'>, archive: Buffer): Promise<void> {
    const { hash, files, bytes } = bundle;
    await this.dataSource.query(
      `INSERT INTO tool_bundles (hash, archive, files, bytes) VALUES ($1, $2, $3, $4)
       ON CONFLICT (hash) DO UPDATE SET uploaded_at = now()`,
      [hash, archive, files, bytes],
    );
  }

  async find(hash: string): Promise<StoredBundle | undefined> {
    const rows: StoredBundle[] = await this.dataSource.query(
      `SELECT hash, files, bytes::float8 AS bytes, uploaded_at AS "uploadedAt"
       FROM tool_bundles WHERE hash = $1`,
      [hash],
    );
    return rows[0];
  }

  async archive(hash: string): Promise<Buffer | undefined> {
    const rows: { archive: Buffer }[] = await this.dataSource.query(
      'SELECT archive FROM tool_bundles WHERE hash = $1',
      [hash],
    );
    return rows[0]?.archive;
  }

  async hashes(): Promise<Set<string>> {
    const rows: { hash: string }[] = await this.dataSource.query('SELECT hash FROM tool_bundles');
    return new Set(rows.map(({ hash }) => hash));
  }

  /** Deletes bundles that no revision references, after `unusedRetention`. */
  async removeUnused(): Promise<void> {
    await this.dataSource.query(
      `DELETE FROM tool_bundles b
       WHERE uploaded_at < now() - interval '${unusedRetention}'
         AND NOT EXISTS (SELECT FROM custom_tool_revisions r WHERE r.configuration ->> 'bundle' = b.hash)`,
    );
  }
}
