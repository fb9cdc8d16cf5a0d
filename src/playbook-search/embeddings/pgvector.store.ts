import type { DataSource } from 'typeorm';
import type { VectorEntry, VectorStore } from './vector-store.js';

/** Rows of one statement. */
const batch = 500;

/**
 * Vectors in the database, searched by its extension `vector`: exact as well (no approximate index), they cost this
 * process no memory, and one copy serves every replica. The table is made by `open`, outside the migrations, since
 * only some servers have the extension; everything in it stands in `playbook_embeddings`, too.
 */
export class PgvectorStore implements VectorStore {
  readonly bytes = 0;
  private readonly hashes: Map<string, string>;

  private constructor(
    private readonly dataSource: DataSource,
    private readonly providerId: string,
    stored: readonly { readonly key: string; readonly text_hash: string }[],
  ) {
    this.hashes = new Map(stored.map(({ key, text_hash }) => [key, text_hash]));
  }

  /**
   * @returns undefined when the server has no such extension
   * @throws the database's error, as when this user may not create it
   */
  static async open(dataSource: DataSource, providerId: string): Promise<PgvectorStore | undefined> {
    const available: unknown[] = await dataSource.query(
      `SELECT FROM pg_available_extensions WHERE name = 'vector'`,
    );
    if (available.length === 0) return undefined;
    await dataSource.transaction(async (manager) => {
      // Two replicas at once: CREATE IF NOT EXISTS alone may fail for one of them.
      await manager.query(`SELECT pg_advisory_xact_lock(hashtext('playbook_vectors'))`);
      await manager.query('CREATE EXTENSION IF NOT EXISTS vector');
      await manager.query(`
        CREATE TABLE IF NOT EXISTS playbook_vectors (
          provider_id text NOT NULL,
          key text NOT NULL,
          text_hash text NOT NULL,
          embedding vector NOT NULL,
          PRIMARY KEY (provider_id, key)
        )`);
    });
    const stored: { key: string; text_hash: string }[] = await dataSource.query(
      'SELECT key, text_hash FROM playbook_vectors WHERE provider_id = $1',
      [providerId],
    );
    return new PgvectorStore(dataSource, providerId, stored);
  }

  get size(): number {
    return this.hashes.size;
  }

  has(key: string, hash: string): boolean {
    return this.hashes.get(key) === hash;
  }

  async put(entries: readonly VectorEntry[]): Promise<void> {
    for (let at = 0; at < entries.length; at += batch) {
      const page = entries.slice(at, at + batch);
      await this.dataSource.query(
        `INSERT INTO playbook_vectors (provider_id, key, text_hash, embedding)
         SELECT $1, key, text_hash, embedding::vector
         FROM unnest($2::text[], $3::text[], $4::text[]) AS new (key, text_hash, embedding) ORDER BY key
         ON CONFLICT (provider_id, key) DO UPDATE SET text_hash = EXCLUDED.text_hash, embedding = EXCLUDED.embedding`,
        [
          this.providerId,
          page.map(({ key }) => key),
          page.map(({ hash }) => hash),
          page.map(({ vector }) => textOf(vector)),
        ],
      );
      for (const { key, hash } of page) this.hashes.set(key, hash);
    }
  }

  /** Only here: another replica may have them still, and finds them again if it puts them anew. */
  async retain(isKept: (key: string) => boolean): Promise<number> {
    const gone = [...this.hashes.keys()].filter((key) => !isKept(key));
    if (gone.length === 0) return 0;
    await this.dataSource.query(
      'DELETE FROM playbook_vectors WHERE provider_id = $1 AND key = ANY($2::text[])',
      [this.providerId, gone],
    );
    for (const key of gone) this.hashes.delete(key);
    return gone.length;
  }

  async scores(
    query: Float32Array,
    candidates: readonly string[],
    top?: number,
  ): Promise<ReadonlyMap<string, number>> {
    const asked = candidates.filter((key) => this.hashes.has(key));
    const rows: { key: string; cosine: number }[] = await this.dataSource.query(
      `SELECT key, 1 - (embedding <=> $2::vector) AS cosine FROM playbook_vectors
       WHERE provider_id = $1 AND vector_dims(embedding) = $3 AND ($4::text[] IS NULL OR key = ANY($4::text[]))
       ORDER BY embedding <=> $2::vector LIMIT $5`,
      [
        this.providerId,
        textOf(query),
        query.length,
        // All of them: to name them costs more than to look at them.
        asked.length === this.hashes.size ? null : asked,
        top ?? asked.length,
      ],
    );
    // Another replica may have put what this one does not know yet.
    return new Map(rows.flatMap(({ key, cosine }) => (this.hashes.has(key) ? [[key, cosine]] : [])));
  }

  async close(): Promise<void> {
    // The connections are everybody's.
  }
}

const textOf = (vector: Float32Array): string => `[${vector.join(',')}]`;
