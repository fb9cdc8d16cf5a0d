import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { SearchablePlaybook } from '../../playbooks/playbook.types.js';
import type { VectorEntry } from './vector-store.js';

/** The part of a playbook that is embedded. */
export type EmbeddablePlaybook = Pick<
  SearchablePlaybook,
  'playbook_id' | 'version' | 'name' | 'description' | 'signals' | 'aliases'
>;

/** A row with the bytes of its vector. */
interface Row extends Omit<VectorEntry, 'vector'> {
  readonly vector: Buffer;
}

/** Rows per query: 3 MB with vectors of 768 dimensions. */
const pageSize = 1_000;

/** Stores embeddings in the table `playbook_embeddings`, so that a restart does not compute them again. */
@Injectable()
export class EmbeddingsRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** The stored vectors of these playbooks, in pages; also those of texts that have changed since. */
  async *vectors(
    modelId: string,
    playbooks: readonly Pick<EmbeddablePlaybook, 'playbook_id' | 'version'>[],
  ): AsyncGenerator<VectorEntry[]> {
    for (let start = 0; start < playbooks.length; start += pageSize) {
      const page = playbooks.slice(start, start + pageSize);
      const rows: Row[] = await this.dataSource.query(
        `SELECT e.playbook_id, e.version, e.text_hash AS hash, e.vector FROM playbook_embeddings e
         JOIN unnest($2::text[], $3::text[]) AS asked (playbook_id, version) USING (playbook_id, version)
         WHERE e.provider_id = $1`,
        [modelId, page.map(({ playbook_id }) => playbook_id), page.map(({ version }) => version)],
      );
      yield rows.map((row) => ({ ...row, vector: floatsOf(row.vector) }));
    }
  }

  /** Stores vectors of playbooks that still exist; vectors that another replica stored meanwhile stay. */
  async store(modelId: string, embeddings: readonly VectorEntry[]): Promise<void> {
    await this.dataSource.query(
      `INSERT INTO playbook_embeddings (provider_id, playbook_id, version, text_hash, vector)
       SELECT $1, playbook_id, version, text_hash, vector
       FROM unnest($2::text[], $3::text[], $4::text[], $5::bytea[]) AS new (playbook_id, version, text_hash, vector)
       JOIN playbook_catalog USING (playbook_id, version)
       ORDER BY playbook_id, version ON CONFLICT DO NOTHING`,
      [
        modelId,
        embeddings.map(({ playbook_id }) => playbook_id),
        embeddings.map(({ version }) => version),
        embeddings.map(({ hash }) => hash),
        embeddings.map(({ vector }) => bytesOf(vector)),
      ],
    );
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** Copies the bytes, because a driver's buffer may not be aligned for floats. */
function floatsOf(bytes: Buffer): Float32Array {
  const copy = Uint8Array.from(bytes);
  return new Float32Array(copy.buffer);
}
