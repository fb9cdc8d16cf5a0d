import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { SearchablePlaybook } from '../playbook.types.js';
import { playbookKey } from '../vector-index.js';
import type { VectorEntry } from './vector-store.js';

/** A playbook that search may show, as far as it is embedded. */
export type EmbeddablePlaybook = Pick<
  SearchablePlaybook,
  'playbook_id' | 'version' | 'name' | 'signals' | 'aliases'
>;

export interface NewEmbedding {
  readonly playbook: Pick<EmbeddablePlaybook, 'playbook_id' | 'version'>;
  readonly hash: string;
  readonly vector: Float32Array;
}

interface Row {
  readonly playbook_id: string;
  readonly version: string;
  readonly text_hash: string;
  readonly vector: Buffer;
}

/** Rows of one answer: 2 MB of vectors of 512 dimensions. */
const pageSize = 1_000;

/** The table `playbook_embeddings`, and what of the catalogue is to be embedded. */
@Injectable()
export class EmbeddingsRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** Another one when search may show other versions; what a version says never changes. */
  async revision(): Promise<string> {
    const [row]: { revision: string }[] = await this.dataSource.query(
      `SELECT count(*) || ' ' || coalesce(sum(hashtextextended(playbook_id || '@' || version, 0)), 0) AS revision
       FROM playbook_catalog WHERE is_latest_version AND status = 'active'`,
    );
    return row?.revision ?? '';
  }

  /** Playbooks that search may show. */
  async count(): Promise<number> {
    const [row]: { count: number }[] = await this.dataSource.query(
      `SELECT count(*)::int AS count FROM playbook_catalog WHERE is_latest_version AND status = 'active'`,
    );
    return row?.count ?? 0;
  }

  /** Latest versions that are active. */
  playbooks(): Promise<EmbeddablePlaybook[]> {
    return this.dataSource.query(
      `SELECT playbook_id, version, name, signals, aliases FROM playbook_catalog
       WHERE is_latest_version AND status = 'active' ORDER BY playbook_id COLLATE "C"`,
    );
  }

  /** Providers with stored vectors, the one with the most first. */
  async providers(): Promise<string[]> {
    const rows: { provider_id: string }[] = await this.dataSource.query(
      `SELECT provider_id FROM playbook_embeddings e
       JOIN playbook_catalog c USING (playbook_id, version) WHERE c.is_latest_version AND c.status = 'active'
       GROUP BY provider_id ORDER BY count(*) DESC, provider_id`,
    );
    return rows.map(({ provider_id }) => provider_id);
  }

  /** The stored vectors of these playbooks, in pages, whatever text they were made from. */
  async *vectors(
    providerId: string,
    playbooks: readonly Pick<EmbeddablePlaybook, 'playbook_id' | 'version'>[],
  ): AsyncGenerator<VectorEntry[]> {
    for (let at = 0; at < playbooks.length; at += pageSize) {
      const page = playbooks.slice(at, at + pageSize);
      const rows: Row[] = await this.dataSource.query(
        `SELECT e.playbook_id, e.version, e.text_hash, e.vector FROM playbook_embeddings e
         JOIN unnest($2::text[], $3::text[]) AS asked (playbook_id, version) USING (playbook_id, version)
         WHERE e.provider_id = $1`,
        [providerId, page.map(({ playbook_id }) => playbook_id), page.map(({ version }) => version)],
      );
      yield rows.map((row) => ({
        key: playbookKey(row),
        hash: row.text_hash,
        vector: floatsOf(row.vector),
      }));
    }
  }

  /** Keeps those whose playbook still exists; what another replica stored meanwhile stays. */
  async store(providerId: string, embeddings: readonly NewEmbedding[]): Promise<void> {
    await this.dataSource.query(
      `INSERT INTO playbook_embeddings (provider_id, playbook_id, version, text_hash, vector)
       SELECT $1, playbook_id, version, text_hash, vector
       FROM unnest($2::text[], $3::text[], $4::text[], $5::bytea[]) AS new (playbook_id, version, text_hash, vector)
       JOIN playbook_catalog USING (playbook_id, version)
       ORDER BY playbook_id, version ON CONFLICT DO NOTHING`,
      [
        providerId,
        embeddings.map(({ playbook }) => playbook.playbook_id),
        embeddings.map(({ playbook }) => playbook.version),
        embeddings.map(({ hash }) => hash),
        embeddings.map(({ vector }) => bytesOf(vector)),
      ],
    );
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** Copied: a driver's buffer need not begin where floats may. */
function floatsOf(bytes: Buffer): Float32Array {
  const copy = Uint8Array.from(bytes);
  return new Float32Array(copy.buffer);
}
